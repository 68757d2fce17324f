/* STAND-IN for libcuda.so.1 and libnccl.so.2, in one file: memory is this machine's, and ranks add
 * up through a file that they map. It proves the program's own part, not a card.
 *
 * CARDS: how many there are. MEETING: the folder of that file. FAULT: hang (rank 1 never joins the sum), init (rank 1 never comes
 * through), wrong (a number is off by one), refuse (cuInit fails with 802).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOT = 1 << 16, RANKS = 8 };
typedef struct { char internal[128]; } unique_id;
typedef struct { pthread_barrier_t all; int made; uint32_t slot[RANKS][SLOT / 4]; } meeting;
typedef struct { int rank, ranks; meeting *at; } comm;

static int fault(const char *word) {
    const char *said = getenv("FAULT");
    return said && strcmp(said, word) == 0;
}

int cuInit(unsigned flags) { (void)flags; return fault("refuse") ? 802 : 0; }
int cuGetErrorName(int code, const char **name) {
    *name = code == 802 ? "CUDA_ERROR_SYSTEM_NOT_READY" : "CUDA_ERROR_UNKNOWN";
    return 0;
}
int cuDeviceGetCount(int *count) { *count = atoi(getenv("CARDS")); return 0; }
int cuDeviceGetUuid(unsigned char *uuid, int card) { memset(uuid, 0xa0 + card, 16); return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int card) { *context = (void *)(long)(card + 1); return 0; }
int cuCtxSetCurrent(void *context) { (void)context; return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuStreamCreate(void **stream, unsigned flags) { (void)flags; *stream = (void *)1; return 0; }
int cuStreamSynchronize(void *stream) { (void)stream; return 0; }
int cuMemAlloc_v2(uint64_t *at, size_t size) { *at = (uint64_t)malloc(size); return *at ? 0 : 2; }
int cuMemsetD32_v2(uint64_t at, unsigned value, size_t count) {
    for (size_t n = 0; n < count; n++) ((uint32_t *)at)[n] = value;
    return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) { memcpy(to, (void *)from, size); return 0; }

const char *ncclGetErrorString(int code) { (void)code; return "unhandled system error"; }
int ncclGetUniqueId(unique_id *id) {
    snprintf(id->internal, sizeof id->internal, "%s/meeting.XXXXXX", getenv("MEETING"));
    int file = mkstemp(id->internal);
    if (file < 0 || ftruncate(file, sizeof(meeting))) return 2;
    meeting *at = mmap(0, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&at->all, &shared, (unsigned)atoi(getenv("CARDS")));
    at->made = 1;
    return 0;
}
int ncclCommInitRank(comm **made, int ranks, unique_id id, int rank) {
    const char *line = "host:%d:%d [%d] NCCL INFO ncclCommInitRank comm %p rank %d nranks %d cudaDev %d - Init %s\n";
    comm *one = malloc(sizeof *one);
    printf(line, getpid(), getpid(), rank, (void *)one, rank, ranks, rank, "START");
    int file = open(id.internal, O_RDWR);
    one->rank = rank;
    one->ranks = ranks;
    one->at = mmap(0, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (fault("init") && rank == 1) pause();
    pthread_barrier_wait(&one->at->all);
    unlink(id.internal);
    printf(line, getpid(), getpid(), rank, (void *)one, rank, ranks, rank, "COMPLETE");
    int next = (rank + 1) % ranks;
    const char *via = getenv("NCCL_P2P_DISABLE") ? "SHM/direct/direct" : "P2P/CUMEM";
    printf("host:%d:%d [%d] NCCL INFO Channel 00/0 : %d[%d] -> %d[%d] via %s\n",
           getpid(), getpid(), rank, rank, rank, next, next, via);
    *made = one;
    return 0;
}
int ncclAllReduce(const void *from, void *to, size_t count, int kind, int how, comm *one, void *stream) {
    (void)kind, (void)how, (void)stream;
    if (fault("hang") && one->rank == 1) pause();
    for (size_t done = 0; done < count; done += SLOT / 4) {
        size_t now = count - done < SLOT / 4 ? count - done : SLOT / 4;
        memcpy(one->at->slot[one->rank], (const uint32_t *)from + done, now * 4);
        pthread_barrier_wait(&one->at->all);
        for (size_t n = 0; n < now; n++) {
            uint32_t sum = fault("wrong") && done ? 1 : 0;
            for (int rank = 0; rank < one->ranks; rank++) sum += one->at->slot[rank][n];
            ((uint32_t *)to)[done + n] = sum;
        }
        pthread_barrier_wait(&one->at->all);
    }
    return 0;
}
