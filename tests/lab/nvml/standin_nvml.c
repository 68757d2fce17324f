/* STAND-IN: a libnvidia-ml.so.1 for hosts without a card. It is no driver.
 *
 * It answers NVML's calls from a folder of small text files ($STANDIN_NVML, else
 * /var/lib/standin-nvml), which it reads again at every call: a test edits them live. Nothing of
 * NVIDIA's is in it; shapes and answers follow what real cards said (driver 580, two H200).
 *
 *   system         KEY VALUE a line: driver, module, nvml, cuda, pids
 *                  `module` other than `driver`: nvmlInit says 18, as after an update without a
 *                  reboot. `pids initial`: as drivers before 535.113 (see below)
 *   cards/N        KEY VALUE a line; a key that lacks is "not supported". Units are in the names
 *   pairs          A B topology LEVEL, or A B p2p INDEX STATUS; `*` is any card; the last line wins
 *   faults         FUNCTION CODE|hang [CARD]; FUNCTION without its _v2, or `*` for all but nvmlInit
 *   processes/ID   `card N BYTES [graphics]` a line, BYTES `unknown` where NVML would not know;
 *                  `unwind_s N`: memory comes back so long after the process ended;
 *                  `stays`: never; `pid N`: no process of ours, listed under this number for ever
 *   proc           the initial pid namespace's /proc, bound there for `pids initial`
 *
 * A process holds its entry by a POSIX lock on byte ID of the file. So the kernel itself says
 * whether it lives (a zombie holds no lock), and F_GETLK gives its pid in the *caller's* pid
 * namespace, 0 where it is not visible: what drivers from 535.113 on do. Whoever holds an entry
 * must not open it again, so a holder calls no NVML.
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

typedef unsigned int uint;
typedef unsigned long long bytes;
typedef int result;

enum {
    SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4,
    NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, LIB_RM_VERSION_MISMATCH = 18,
    ARGUMENT_VERSION_MISMATCH = 25, UNKNOWN = 999
};
enum { CARDS = 64, PROCESSES = 256, TEXT = 65536, WORD = 128, P2P_INDICES = 6 };
static const bytes NOT_AVAILABLE = ~0ULL;

typedef struct card { uint index; } *device;
typedef struct { bytes total, free, used; } memory_v1;
typedef struct { uint version; bytes total, reserved, free, used; } memory_v2;
typedef struct { bytes total, free, used; } bar1_memory;
typedef struct { uint pid; bytes used; } process_v1;
typedef struct { uint pid; bytes used; uint gpu_instance, compute_instance; } process_v2;
typedef struct { uint gpu, memory; } utilization;
typedef struct { uint version, sensor; int celsius; } temperature_v1;
typedef struct {
    char legacy_id[16];
    uint domain, bus, device, device_id, subsystem_id;
    char id[32];
} pci_v3;
typedef struct {
    uint field, scope;
    long long timestamp, latency_us;
    uint type;
    result status;
    union { uint unsigned_int; bytes whole; } value;
} field_value;

_Static_assert(sizeof(memory_v2) == 40 && sizeof(process_v2) == 24, "NVML's layouts");
_Static_assert(sizeof(pci_v3) == 68 && sizeof(field_value) == 40, "NVML's layouts");

static struct card known[CARDS];
static int users;        /* nvmlInit less nvmlShutdown */
static int control = -1; /* NVML keeps a handle to /dev/nvidiactl, as everything that asks a card */

/* -- the folder */

static const char *folder(void) {
    const char *given = getenv("STANDIN_NVML");
    return given && *given ? given : "/var/lib/standin-nvml";
}

static int open_in(const char *name, int flags) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    return open(path, flags | O_CLOEXEC);
}

/* Fill `text` with a file of the folder; false, and "", when there is none. */
static bool read_in(const char *name, char *text, size_t size) {
    int file = open_in(name, O_RDONLY);
    size_t length = 0;
    ssize_t more = 0;
    while (file >= 0 && (more = read(file, text + length, size - 1 - length)) > 0)
        length += (size_t)more;
    text[length] = 0;
    if (file >= 0) close(file);
    return file >= 0;
}

/* Copy the value of a key's line; false when there is none. */
static bool value_of(const char *text, const char *key, char *value, size_t size) {
    size_t length = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, key, length) || (line[length] != ' ' && line[length] != '\n')) continue;
        const char *start = line + length + (line[length] == ' ');
        snprintf(value, size, "%.*s", (int)strcspn(start, "\n"), start);
        return true;
    }
    return false;
}

static bool card_value(uint index, const char *key, char *value, size_t size) {
    char name[32], text[TEXT];
    snprintf(name, sizeof name, "cards/%u", index);
    return read_in(name, text, sizeof text) && value_of(text, key, value, size);
}

static bytes card_number(uint index, const char *key) {
    char value[WORD];
    return card_value(index, key, value, sizeof value) ? strtoull(value, NULL, 0) : 0;
}

static bool system_value(const char *key, char *value, size_t size) {
    char text[TEXT];
    return read_in("system", text, sizeof text) && value_of(text, key, value, size);
}

static uint card_count(void) {
    char name[32], text[16];
    uint count = 0;
    do snprintf(name, sizeof name, "cards/%u", count);
    while (count < CARDS && read_in(name, text, sizeof text) && ++count);
    return count;
}

/* -- faults */

static void hang(void) {
    for (;;) nanosleep(&(struct timespec){3600, 0}, NULL);
}

static bool names(const char *fault, const char *function) {
    size_t length = strlen(fault);
    if (!strcmp(fault, "*")) return strncmp(function, "nvmlInit", 8) != 0;
    if (strncmp(fault, function, length)) return false;
    const char *rest = function + length;
    return !*rest || !strncmp(rest, "_v", 2) || !strcmp(rest, "WithFlags");
}

/* Return the error that a test wants of this call, or never return; `index` < 0 is no card. */
static result fault(const char *function, long index) {
    char text[TEXT];
    if (!read_in("faults", text, sizeof text)) return SUCCESS;
    for (char *line, *rest = text; (line = strtok_r(rest, "\n", &rest));) {
        char name[WORD], what[WORD], card[WORD] = "";
        if (sscanf(line, "%127s %127s %127s", name, what, card) < 2) continue;
        if (!names(name, function)) continue;
        if (*card && strtol(card, NULL, 10) != index) continue;
        if (!strcmp(what, "hang")) hang();
        return (result)strtol(what, NULL, 10);
    }
    return SUCCESS;
}

static result enter(const char *function) { return users ? fault(function, -1) : UNINITIALIZED; }

static result enter_card(const char *function, device card) {
    if (!users) return UNINITIALIZED;
    if (card < known || card >= known + card_count()) return INVALID_ARGUMENT;
    return fault(function, card->index);
}

#define ENTER do { result left = enter(__func__); if (left) return left; } while (0)
#define ENTER_CARD(card) \
    do { result left = enter_card(__func__, card); if (left) return left; } while (0)

/* -- processes */

typedef struct { uint pid; bytes used; bool visible, graphics; } holding;

/* Return the pid that the initial namespace gives the holder of an entry, 0 when it is not told. */
static uint initial_pid(bytes id) {
    char text[TEXT];
    if (!read_in("proc/locks", text, sizeof text)) return 0;
    for (char *line, *rest = text; (line = strtok_r(rest, "\n", &rest));) {
        uint pid;
        bytes first;
        if (sscanf(line, "%*s POSIX %*s %*s %u %*s %llu", &pid, &first) == 2 && first == id)
            return pid;
    }
    return 0;
}

/* Note when an entry was first seen without its process; return the milliseconds since then. */
static long long ended_ms(int file, const char *text) {
    char value[WORD];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long now_ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
    if (value_of(text, "ended_ms", value, sizeof value)) return now_ms - strtoll(value, NULL, 10);
    int length = snprintf(value, sizeof value, "ended_ms %lld\n", now_ms);
    return write(file, value, (size_t)length) == length ? 0 : LLONG_MAX; /* nobody could note it */
}

/* Tell whether an entry holds memory, and under which pid, 0 where the caller does not see it. */
static bool holds(const char *name, char *text, size_t size, uint *pid) {
    char path[300], value[WORD];
    bytes id = strtoull(name, NULL, 10);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "processes/%s", name);
    if (!read_in(path, text, size)) return false;
    *pid = 0;
    if (value_of(text, "pid", value, sizeof value)) {
        *pid = (uint)strtoul(value, NULL, 10);
        return true;
    }
    int file = open_in(path, O_RDWR | O_APPEND);
    if (file < 0) file = open_in(path, O_RDONLY);
    if (file < 0) return false;
    bool held = false;
    if (!fcntl(file, F_GETLK, &lock) && lock.l_type != F_UNLCK) {
        held = true;
        *pid = (uint)lock.l_pid;
        if (system_value("pids", value, sizeof value) && !strcmp(value, "initial"))
            *pid = initial_pid(id);
    } else if (value_of(text, "stays", value, sizeof value)) {
        held = true;
    } else if (value_of(text, "unwind_s", value, sizeof value)) {
        held = ended_ms(file, text) < 1000 * strtoll(value, NULL, 10);
    }
    close(file);
    return held;
}

static int by_pid(const void *a, const void *b) {
    uint left = ((const holding *)a)->pid, right = ((const holding *)b)->pid;
    return (left > right) - (left < right);
}

/* Fill `found` with what is held on a card, by pid; return how many. */
static uint holdings(uint index, holding *found) {
    char path[512], text[TEXT];
    uint count = 0;
    snprintf(path, sizeof path, "%s/processes", folder());
    DIR *entries = opendir(path);
    if (!entries) return 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        uint pid;
        if (entry->d_name[0] == '.' || !holds(entry->d_name, text, sizeof text, &pid)) continue;
        for (char *line, *rest = text; (line = strtok_r(rest, "\n", &rest));) {
            uint card;
            char amount[WORD], kind[WORD] = "";
            if (sscanf(line, "card %u %127s %127s", &card, amount, kind) < 2) continue;
            if (card != index) continue;
            bytes used = strcmp(amount, "unknown") ? strtoull(amount, NULL, 10) : NOT_AVAILABLE;
            if (count < PROCESSES)
                found[count++] = (holding){pid, used, pid != 0, !strcmp(kind, "graphics")};
        }
    }
    closedir(entries);
    qsort(found, count, sizeof *found, by_pid);
    return count;
}

static bytes used_on(uint index) {
    holding found[PROCESSES];
    bytes sum = card_number(index, "base_bytes");
    for (uint i = 0, count = holdings(index, found); i < count; i++)
        if (found[i].used != NOT_AVAILABLE) sum += found[i].used;
    return sum;
}

static result list(uint index, bool graphics, uint *count, void *out, bool v1) {
    holding found[PROCESSES];
    uint room = *count, have = 0, all = holdings(index, found);
    for (uint i = 0; i < all; i++) have += found[i].visible && found[i].graphics == graphics;
    *count = have;
    if (have > room) return INSUFFICIENT_SIZE;
    for (uint i = 0, at = 0; out && i < all; i++) {
        if (!found[i].visible || found[i].graphics != graphics) continue;
        if (v1) ((process_v1 *)out)[at++] = (process_v1){found[i].pid, found[i].used};
        else ((process_v2 *)out)[at++] = (process_v2){found[i].pid, found[i].used, ~0u, ~0u};
    }
    return SUCCESS;
}

/* -- init and system */

static result start(const char *function) {
    char driver[WORD], module[WORD];
    result wanted = fault(function, -1);
    if (wanted) return wanted;
    if (!system_value("driver", driver, sizeof driver)) return DRIVER_NOT_LOADED;
    if (system_value("module", module, sizeof module) && strcmp(driver, module))
        return LIB_RM_VERSION_MISMATCH;
    if (control < 0) control = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
    if (control < 0 && errno == EACCES) return NO_PERMISSION;
    for (uint i = 0; i < CARDS; i++) known[i].index = i;
    users++;
    return SUCCESS;
}

result nvmlInit(void) { return start(__func__); }
result nvmlInit_v2(void) { return start(__func__); }
result nvmlInitWithFlags(uint flags) { (void)flags; return start(__func__); }

result nvmlShutdown(void) {
    if (!users) return UNINITIALIZED;
    if (!--users && control >= 0) {
        close(control);
        control = -1;
    }
    return SUCCESS;
}

const char *nvmlErrorString(result code) {
    static const char *const said[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
        "Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power",
        "Driver Not Loaded", "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found",
        "Function Not Found", "Corrupted infoROM", "GPU is lost", "GPU requires restart",
        "The operating system has blocked the request",
        "RM has detected an NVML/RM version mismatch.", "Operation failed: GPU is in use",
        "Insufficient Memory", "No data", "The requested vgpu operation is not available",
        "ECC is disabled", "Out of resources", "Argument Version Mismatch",
    };
    return code >= 0 && code < (int)(sizeof said / sizeof *said) ? said[code] : "Unknown Error";
}

static result copy(const char *value, char *out, uint size) {
    if (size <= strlen(value)) return INSUFFICIENT_SIZE;
    strcpy(out, value);
    return SUCCESS;
}

#define SYSTEM_TEXT(function, key) \
    result function(char *out, uint size) { \
        char value[WORD]; \
        ENTER; \
        return system_value(key, value, sizeof value) ? copy(value, out, size) : UNKNOWN; \
    }
SYSTEM_TEXT(nvmlSystemGetDriverVersion, "driver")
SYSTEM_TEXT(nvmlSystemGetNVMLVersion, "nvml")

static result cuda_version(const char *function, int *out) {
    char value[WORD];
    result left = enter(function);
    if (left) return left;
    *out = system_value("cuda", value, sizeof value) ? atoi(value) : 0;
    return SUCCESS;
}
result nvmlSystemGetCudaDriverVersion(int *out) { return cuda_version(__func__, out); }
result nvmlSystemGetCudaDriverVersion_v2(int *out) { return cuda_version(__func__, out); }

result nvmlSystemGetProcessName(uint pid, char *out, uint size) {
    char path[64], said[1024] = "";
    ENTER;
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return NOT_FOUND;
    ssize_t length = read(file, said, sizeof said - 1);
    close(file);
    said[length > 0 ? length : 0] = 0;
    return copy(said, out, size);
}

/* -- handles */

static result count_cards(const char *function, uint *out) {
    result left = enter(function);
    if (!left) *out = card_count();
    return left;
}
result nvmlDeviceGetCount(uint *out) { return count_cards(__func__, out); }
result nvmlDeviceGetCount_v2(uint *out) { return count_cards(__func__, out); }

static result handle(const char *function, uint index, device *out) {
    if (!users) return UNINITIALIZED;
    if (index >= card_count()) return INVALID_ARGUMENT;
    result left = fault(function, index);
    if (!left) *out = &known[index];
    return left;
}
result nvmlDeviceGetHandleByIndex(uint i, device *out) { return handle(__func__, i, out); }
result nvmlDeviceGetHandleByIndex_v2(uint i, device *out) { return handle(__func__, i, out); }

/* Find a card by a whole UUID, or by the end of a bus id: 01:00.0 names 00000000:01:00.0. */
static result find(const char *function, const char *key, const char *wanted, device *out) {
    char value[WORD];
    size_t length = strlen(wanted);
    for (uint i = 0, count = card_count(); i < count; i++) {
        if (!card_value(i, key, value, sizeof value) || strlen(value) < length) continue;
        const char *end = value + strlen(value) - length;
        if (!strcasecmp(end, wanted) && (end == value || !strcmp(key, "bus")))
            return handle(function, i, out);
    }
    return users ? NOT_FOUND : UNINITIALIZED;
}

#define HANDLE_BY(function, key) \
    result function(const char *wanted, device *out) { return find(__func__, key, wanted, out); }
HANDLE_BY(nvmlDeviceGetHandleByUUID, "uuid")
HANDLE_BY(nvmlDeviceGetHandleByPciBusId, "bus")
HANDLE_BY(nvmlDeviceGetHandleByPciBusId_v2, "bus")

/* -- one card, one value */

#define CARD_TEXT(function, key) \
    result function(device card, char *out, uint size) { \
        char value[WORD]; \
        ENTER_CARD(card); \
        return card_value(card->index, key, value, sizeof value) ? copy(value, out, size) \
                                                                 : NOT_SUPPORTED; \
    }
#define CARD_NUMBER(function, type, key) \
    result function(device card, type *out) { \
        char value[WORD]; \
        ENTER_CARD(card); \
        if (!card_value(card->index, key, value, sizeof value)) return NOT_SUPPORTED; \
        *out = (type)strtoull(value, NULL, 0); \
        return SUCCESS; \
    }
#define CARD_PAIR(function, key, other) \
    result function(device card, uint *out, uint *out_other) { \
        char value[WORD], other_value[WORD]; \
        ENTER_CARD(card); \
        if (!card_value(card->index, key, value, sizeof value)) return NOT_SUPPORTED; \
        if (!card_value(card->index, other, other_value, sizeof other_value)) \
            return NOT_SUPPORTED; \
        *out = (uint)strtoul(value, NULL, 0); \
        *out_other = (uint)strtoul(other_value, NULL, 0); \
        return SUCCESS; \
    }
/* One of a row of values, by number: KEY.0, KEY.1 ... */
#define CARD_CHOICE(function, key) \
    result function(device card, uint which, uint *out) { \
        char name[WORD], value[WORD]; \
        ENTER_CARD(card); \
        snprintf(name, sizeof name, key ".%u", which); \
        if (!card_value(card->index, name, value, sizeof value)) return NOT_SUPPORTED; \
        *out = (uint)strtoul(value, NULL, 0); \
        return SUCCESS; \
    }

CARD_TEXT(nvmlDeviceGetName, "name")
CARD_TEXT(nvmlDeviceGetUUID, "uuid")
CARD_TEXT(nvmlDeviceGetSerial, "serial")
CARD_TEXT(nvmlDeviceGetVbiosVersion, "vbios")
CARD_TEXT(nvmlDeviceGetBoardPartNumber, "part_number")
CARD_TEXT(nvmlDeviceGetGspFirmwareVersion, "gsp_firmware")
CARD_NUMBER(nvmlDeviceGetMinorNumber, uint, "minor")
CARD_NUMBER(nvmlDeviceGetBrand, uint, "brand")
CARD_NUMBER(nvmlDeviceGetArchitecture, uint, "architecture")
CARD_NUMBER(nvmlDeviceGetNumaNodeId, uint, "numa")
CARD_NUMBER(nvmlDeviceGetPowerUsage, uint, "power_mw")
CARD_NUMBER(nvmlDeviceGetPowerManagementLimit, uint, "power_limit_mw")
CARD_NUMBER(nvmlDeviceGetEnforcedPowerLimit, uint, "power_enforced_mw")
CARD_NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, uint, "power_default_mw")
CARD_PAIR(nvmlDeviceGetPowerManagementLimitConstraints, "power_min_mw", "power_max_mw")
CARD_NUMBER(nvmlDeviceGetTotalEnergyConsumption, bytes, "energy_mj")
CARD_NUMBER(nvmlDeviceGetPersistenceMode, uint, "persistence")
CARD_NUMBER(nvmlDeviceGetComputeMode, uint, "compute_mode")
CARD_NUMBER(nvmlDeviceGetDisplayMode, uint, "display_mode")
CARD_NUMBER(nvmlDeviceGetDisplayActive, uint, "display_active")
CARD_NUMBER(nvmlDeviceGetPerformanceState, uint, "pstate")
CARD_NUMBER(nvmlDeviceGetFanSpeed, uint, "fan")
CARD_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, uint, "pcie_gen")
CARD_NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, uint, "pcie_gen_max")
CARD_NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, uint, "pcie_gen_card")
CARD_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, uint, "pcie_width")
CARD_NUMBER(nvmlDeviceGetMaxPcieLinkWidth, uint, "pcie_width_max")
CARD_NUMBER(nvmlDeviceGetPcieReplayCounter, uint, "pcie_replays")
CARD_NUMBER(nvmlDeviceGetCurrentClocksEventReasons, bytes, "clock_reasons")
CARD_NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, bytes, "clock_reasons")
CARD_PAIR(nvmlDeviceGetEccMode, "ecc", "ecc_pending")
CARD_PAIR(nvmlDeviceGetMigMode, "mig", "mig_pending")
CARD_CHOICE(nvmlDeviceGetClockInfo, "clock_mhz")
CARD_CHOICE(nvmlDeviceGetMaxClockInfo, "clock_max_mhz")
CARD_CHOICE(nvmlDeviceGetTemperature, "temperature_c")
CARD_CHOICE(nvmlDeviceGetTemperatureThreshold, "threshold_c")
CARD_CHOICE(nvmlDeviceGetPcieThroughput, "pcie_kb_s")
CARD_CHOICE(nvmlDeviceGetNvLinkState, "nvlink")
CARD_CHOICE(nvmlDeviceGetNvLinkRemoteDeviceType, "nvlink_kind")

result nvmlDeviceGetIndex(device card, uint *out) {
    ENTER_CARD(card);
    *out = card->index;
    return SUCCESS;
}

result nvmlDeviceGetTemperatureV(device card, temperature_v1 *out) {
    ENTER_CARD(card);
    if (out->version != 0x100000C) return ARGUMENT_VERSION_MISMATCH;
    out->celsius = (int)card_number(card->index, "temperature_c.0");
    return SUCCESS;
}

result nvmlDeviceGetUtilizationRates(device card, utilization *out) {
    ENTER_CARD(card);
    out->gpu = (uint)card_number(card->index, "utilization_gpu");
    out->memory = (uint)card_number(card->index, "utilization_memory");
    return SUCCESS;
}

result nvmlDeviceGetCudaComputeCapability(device card, int *major, int *minor) {
    char value[WORD];
    ENTER_CARD(card);
    if (!card_value(card->index, "capability", value, sizeof value)) return NOT_SUPPORTED;
    return sscanf(value, "%d.%d", major, minor) == 2 ? SUCCESS : UNKNOWN;
}

result nvmlDeviceGetTotalEccErrors(device card, uint corrected_or_not, uint since, bytes *out) {
    char name[WORD], value[WORD];
    ENTER_CARD(card);
    snprintf(name, sizeof name, "ecc_errors.%u.%u", corrected_or_not, since);
    if (!card_value(card->index, name, value, sizeof value)) return NOT_SUPPORTED;
    *out = strtoull(value, NULL, 0);
    return SUCCESS;
}

result nvmlDeviceGetRemappedRows(device card, uint *corrected, uint *not_corrected, uint *pending,
                                 uint *failed) {
    char value[WORD];
    ENTER_CARD(card);
    if (!card_value(card->index, "remapped_rows", value, sizeof value)) return NOT_SUPPORTED;
    return sscanf(value, "%u %u %u %u", corrected, not_corrected, pending, failed) == 4
               ? SUCCESS : UNKNOWN;
}

static result pci(device card, const char *key, pci_v3 *out) {
    char value[WORD];
    if (!card_value(card->index, key, value, sizeof value)) return NOT_SUPPORTED;
    memset(out, 0, sizeof *out);
    if (sscanf(value, "%x:%x:%x", &out->domain, &out->bus, &out->device) != 3) return UNKNOWN;
    snprintf(out->id, sizeof out->id, "%08X:%02X:%02X.0", out->domain, out->bus, out->device);
    snprintf(out->legacy_id, sizeof out->legacy_id, "%04X:%02X:%02X.0", out->domain & 0xFFFF,
             out->bus & 0xFF, out->device & 0xFF);
    out->device_id = (uint)card_number(card->index, "pci_device");
    out->subsystem_id = (uint)card_number(card->index, "pci_subsystem");
    return SUCCESS;
}

#define PCI_INFO(function) \
    result function(device card, pci_v3 *out) { \
        ENTER_CARD(card); \
        return pci(card, "bus", out); \
    }
PCI_INFO(nvmlDeviceGetPciInfo_v2)
PCI_INFO(nvmlDeviceGetPciInfo_v3)

result nvmlDeviceGetNvLinkRemotePciInfo_v2(device card, uint link, pci_v3 *out) {
    char name[WORD];
    ENTER_CARD(card);
    snprintf(name, sizeof name, "nvlink_bus.%u", link);
    return pci(card, name, out);
}

result nvmlDeviceGetFieldValues(device card, int count, field_value *values) {
    ENTER_CARD(card);
    for (int i = 0; i < count; i++) {
        char name[WORD], value[WORD];
        snprintf(name, sizeof name, "field.%u", values[i].field);
        bool there = card_value(card->index, name, value, sizeof value);
        values[i].status = there ? SUCCESS : NOT_SUPPORTED;
        values[i].type = 1; /* unsigned int */
        values[i].value.whole = there ? strtoull(value, NULL, 0) : 0;
    }
    return SUCCESS;
}

/* -- memory and processes */

result nvmlDeviceGetMemoryInfo(device card, memory_v1 *out) {
    ENTER_CARD(card);
    out->total = card_number(card->index, "memory_bytes");
    out->used = used_on(card->index) + card_number(card->index, "reserved_bytes");
    out->free = out->total - out->used;
    return SUCCESS;
}

result nvmlDeviceGetMemoryInfo_v2(device card, memory_v2 *out) {
    ENTER_CARD(card);
    if (out->version != 0x02000028) return ARGUMENT_VERSION_MISMATCH;
    out->total = card_number(card->index, "memory_bytes");
    out->reserved = card_number(card->index, "reserved_bytes");
    out->used = used_on(card->index);
    out->free = out->total - out->reserved - out->used;
    return SUCCESS;
}

result nvmlDeviceGetBAR1MemoryInfo(device card, bar1_memory *out) {
    ENTER_CARD(card);
    out->total = card_number(card->index, "bar1_bytes");
    if (!out->total) return NOT_SUPPORTED;
    out->used = card_number(card->index, "bar1_used_bytes");
    out->free = out->total - out->used;
    return SUCCESS;
}

#define PROCESS_LIST(function, graphics, v1) \
    result function(device card, uint *count, void *out) { \
        ENTER_CARD(card); \
        return count ? list(card->index, graphics, count, out, v1) : INVALID_ARGUMENT; \
    }
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses, false, true)
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v2, false, false)
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v3, false, false)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses, true, true)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, true, false)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, true, false)

result nvmlDeviceGetMPSComputeRunningProcesses_v3(device card, uint *count, void *out) {
    ENTER_CARD(card);
    (void)out;
    *count = 0;
    return SUCCESS;
}

/* -- two cards */

static bool is(const char *word, uint index) {
    return !strcmp(word, "*") || strtoul(word, NULL, 10) == index;
}

/* Return what `pairs` says of two cards, else `otherwise`; which < 0 asks for the topology. */
static uint between(uint from, uint to, int which, uint otherwise) {
    char text[TEXT];
    if (!read_in("pairs", text, sizeof text)) return otherwise;
    for (char *line, *rest = text; (line = strtok_r(rest, "\n", &rest));) {
        char a[WORD], b[WORD];
        int index = -1;
        uint said;
        bool fits = sscanf(line, "%127s %127s topology %u", a, b, &said) == 3
                    || sscanf(line, "%127s %127s p2p %d %u", a, b, &index, &said) == 4;
        if (fits && index == which && is(a, from) && is(b, to)) otherwise = said;
    }
    return otherwise;
}

result nvmlDeviceGetP2PStatus(device from, device to, uint which, uint *out) {
    ENTER_CARD(from);
    ENTER_CARD(to);
    if (which >= P2P_INDICES || from == to) return INVALID_ARGUMENT;
    *out = between(from->index, to->index, (int)which, 5 /* not supported */);
    return SUCCESS;
}

result nvmlDeviceGetTopologyCommonAncestor(device from, device to, uint *out) {
    ENTER_CARD(from);
    ENTER_CARD(to);
    *out = from == to ? 0 : between(from->index, to->index, -1, 50 /* system */);
    return SUCCESS;
}

result nvmlDeviceOnSameBoard(device from, device to, int *out) {
    ENTER_CARD(from);
    ENTER_CARD(to);
    *out = from == to;
    return SUCCESS;
}
