"use strict";
// Draws what the page's JSON holds (headway/control/page/data.py); asks for nothing.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function make(tag, given = {}, ...inside) {
  const svg = ["svg", "path", "rect", "circle", "line", "text", "g", "title"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name === "on") for (const [event, does] of Object.entries(value)) made.addEventListener(event, does);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...inside.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

// --- words and numbers ------------------------------------------------------------------------

const MOOD = {
  stuck: "bad", held: "unsure", down: "bad", silent: "bad", unreachable: "bad", unproven: "unsure", "in hand": "unsure",
  drift: "unsure", accepted: "good", parked: "rest", bare: "rest",
};
const MARK = { bad: "✕", unsure: "!", good: "✓", rest: "–" };
const ENDED = {
  accepted: "good", passed: "good", adopted: "good", done: "good", "went back": "bad", failed: "bad", stuck: "bad", unreachable: "bad",
  held: "unsure", "not judged": "unsure", refused: "unsure", locked: "unsure", unknown: "unsure", parked: "rest",
};
const SAYS = { P: "good", F: "bad", I: "unsure" };
const NAMES = { P: "PASS", F: "FAIL", I: "INVALID" };
const mood = (ended) => ENDED[ended] || "rest";

function ago(at) {
  const s = Math.max(0, data.made - at);
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (s >= 2 * length) return `${Math.floor(s / length)} ${unit}`;
  }
  return `${s} s`;
}
const when = (at) => new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ");
const day = (at) => new Date(at * 1000).toISOString().slice(5, 10);
const gib = (bytes) => (bytes / 2 ** 30).toFixed(bytes < 10 * 2 ** 30 ? 1 : 0);
const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const whole = (n) => n.toLocaleString("en").replaceAll(",", " ");
const UNITS = { "milli-tokens/s": ["tok/s", 1000], us: ["ms", 1000] };

function measured(value, unit) {
  const [name, per] = UNITS[unit] || [unit, 1];
  const n = value / per;
  return `${n >= 100 ? Math.round(n) : n.toFixed(1)} ${name}`;
}

/** Rows of a host as objects, newest first; times come as differences. */
function rowsOf(host) {
  if (!host.turns) {
    let at = 0;
    host.turns = host.rows.map(([seconds, verb, release, ended, verdicts, speed = 0, ttft = 0]) => {
      at = at ? at - seconds : seconds;
      const [letters, names] = data.verdicts[verdicts];
      return {
        at, verb: data.words[verb], release: data.words[release], ended: data.words[ended], letters,
        names: names.map((n) => data.words[n]), speed: speed * 100, ttft: ttft * 100,
      };
    });
  }
  return host.turns;
}

const badge = (stands) =>
  make("span", { class: `badge ${MOOD[stands] || "rest"}` }, make("span", { "aria-hidden": "true" }, MARK[MOOD[stands] || "rest"]), stands);

// --- hosts ------------------------------------------------------------------------------------

let only = "";

function tally() {
  const seen = new Map();
  for (const host of data.hosts) seen.set(host.stands, (seen.get(host.stands) || 0) + 1);
  const button = (name, n, kind) =>
    make(
      "button",
      { type: "button", "aria-pressed": String(only === name), on: { click: () => { only = only === name ? "" : name; tally(); hosts(); } } },
      make("b", { class: kind }, String(n)), name || "hosts",
    );
  byId("tally").replaceChildren(
    button("", data.hosts.length, ""),
    ...[...seen].map(([name, n]) => button(name, n, MOOD[name] || "rest")),
  );
}

function strip(turns) {
  const shown = turns.slice(0, 24).reverse();
  const bad = shown.filter((turn) => mood(turn.ended) === "bad").length;
  const label = shown.length ? `last ${count(shown.length, "transition")}, ${bad} of them ended badly` : "no transition yet";
  return make("span", { class: "strip", role: "img", "aria-label": label },
    shown.map((turn) => make("i", { class: mood(turn.ended), title: `${when(turn.at)} ${turn.verb}: ${turn.ended}` })));
}

function engineCells(host) {
  const add = (n) => {
    const known = host.engines.map((one) => one[n]).filter((value) => value !== null);
    return known.length ? String(known.reduce((a, b) => a + b, 0)) : "";
  };
  const full = host.engines.map((one) => one[4]).filter((value) => value !== null);
  return [add(2), add(3), full.length ? `${Math.floor(Math.max(...full) / 10)} %` : "", add(5)];
}

/** The engines' numbers where there is no room for columns of them. */
function brief(host) {
  const [run, wait, kv, speed] = engineCells(host);
  const said = [run && `${run} run`, wait && `${wait} wait`, kv && `KV ${kv}`, speed && `${speed} tok/s`].filter(Boolean);
  return make("div", { class: "brief quiet" }, said.join(" · "));
}

function hosts() {
  const head = ["Host", "Stands", "Class", "Release", "Since", "By", "Run", "Wait", "KV", "Tok/s", "Last transitions"];
  const narrow = [2, 5, 6, 7, 8, 9];
  const rows = data.hosts.filter((host) => !only || host.stands === only).flatMap(hostRows);
  byId("host-list").replaceChildren(
    make("table", { class: "hosts" },
      make("thead", {}, make("tr", {}, head.map((name, n) =>
        make("th", { scope: "col", class: [narrow.includes(n) ? "opt" : "", n > 5 && n < 10 ? "num" : ""].join(" ") }, name)))),
      make("tbody", {}, rows)),
  );
}

function hostRows(host) {
  const more = make("tr", { class: "more", hidden: "", id: `more-${host.host}` });
  const open = make("button", {
    class: "open", type: "button", "aria-expanded": "false", "aria-controls": `more-${host.host}`,
    on: {
      click: () => {
        const closed = more.hidden;
        if (closed && !more.childElementCount) more.append(make("td", { colspan: "11" }, detail(host)));
        more.hidden = !closed;
        open.setAttribute("aria-expanded", String(closed));
      },
    },
  }, host.host);
  const numbers = engineCells(host).map((text) => make("td", { class: "num opt" }, text));
  const row = make("tr", { "data-host": host.host },
    make("th", { scope: "row", class: "name" }, open), make("td", { class: "right" }, badge(host.stands)), make("td", { class: "opt" }, host.class),
    make("td", {}, make("span", { class: "mono" }, host.release)), make("td", { class: "right" }, host.since ? ago(host.since) : ""),
    make("td", { class: "opt quiet" }, host.by), numbers, make("td", { class: "turns" }, strip(rowsOf(host)), brief(host)));
  const says = host.drift.length ? host.drift : [host.says].filter(Boolean);
  const note = says.length
    ? make("tr", { class: "note" }, make("td", { class: "says", colspan: "11" }, says.slice(0, 3).map((text) => make("div", {}, text))))
    : null;
  return [row, note, more].filter(Boolean);
}

function detail(host) {
  const turns = rowsOf(host);
  const parts = Object.entries(host.alive).map(([name, says]) => make("li", {}, `${name}: ${says}`));
  const engines = host.engines.map(([part, engine, run, wait, kv, speed, says]) =>
    make("li", {}, says ? `${part}: ${engine} does not answer: ${says}` :
      `${part}: ${engine}${run === null ? "" : `, ${run} run, ${wait ?? 0} wait`}${kv === null ? "" : `, KV ${Math.floor(kv / 10)} %`}${speed ? `, ${speed} tok/s` : ""}`));
  const facts = [
    `criteria verdict ${host.verdict || "none"}`, host.by && `brought there by ${host.by}`, host.kv && `KV pool ${whole(host.kv)} tokens`,
  ].filter(Boolean);
  const blocks = [
    make("div", {}, make("h3", {}, "How it stands"), make("ul", { class: "why" }, facts.map((fact) => make("li", {}, fact)), parts, engines,
      host.drift.map((one) => make("li", {}, `drift: ${one}`)))),
  ];
  if (host.why.length) {
    blocks.push(make("div", {}, make("h3", {}, "Newest failures"), make("ul", { class: "why" },
      host.why.map(([at, gate, verdict, said]) => make("li", {}, `${when(at)} ${gate} ${verdict}: ${said}`)))));
  }
  for (const [key, name, unit] of [["speed", "Decode", "milli-tokens/s"], ["ttft", "Time to first token", "us"]]) {
    const points = turns.filter((turn) => turn[key]).reverse().map((turn) => [turn.release, turn[key], turn[key], turn[key], 1, turn.at]);
    if (points.length > 1) blocks.push(chart(`${name} of ${host.host}`, unit, points.slice(-40)));
  }
  if (host.cards.length) blocks.push(make("div", {}, make("h3", {}, "Cards"), bars([host], false)));
  if (host.p2p >= 0) blocks.push(matrix(data.p2p[host.p2p], [host.host]));
  return [make("div", { class: "two" }, blocks), make("h3", { style: "margin-top:16px" }, "Transitions, newest first"), history(turns)];
}

/** A table whose older rows come when they are asked for. */
function growing(names, things, row) {
  const body = make("tbody", {});
  const more = make("button", { type: "button", class: "older", on: { click: () => add() } });
  let shown = 0;
  function add() {
    body.append(...things.slice(shown, shown + 10).map(row));
    shown = Math.min(shown + 10, things.length);
    more.hidden = shown >= things.length;
    more.textContent = `${things.length - shown} older`;
  }
  add();
  const head = make("tr", {}, names.map((name) => make("th", { scope: "col" }, name)));
  return make("div", {}, make("table", { class: "list" }, make("thead", {}, head), body), more);
}

function history(turns) {
  return growing(["When (UTC)", "Verb", "Release", "Ended", "Gates"], turns, (turn) => make("tr", {},
    make("td", { class: "quiet when" }, when(turn.at)), make("td", {}, turn.verb), make("td", { class: "mono" }, turn.release),
    make("td", {}, make("span", { class: `badge ${mood(turn.ended)}` }, turn.ended)), make("td", {}, gateRow(turn))));
}

function gateRow(turn) {
  return make("div", { class: "gates" }, turn.names.map((name, n) => {
    const letter = turn.letters[n];
    const said = letter === "P" ? "" : ` ${NAMES[letter]}`;
    return make("span", { class: `gate ${SAYS[letter]}`, title: `${name}: ${NAMES[letter]}` }, name.split(" ").pop() + said);
  }));
}

// --- timeline ---------------------------------------------------------------------------------

function key(entries) {
  return make("div", { class: "key" }, entries.map(([kind, name]) =>
    make("span", {}, make("i", { style: `background:var(--${kind})`, "aria-hidden": "true" }), name)));
}

function lanes() {
  const shown = data.hosts.filter((host) => host.rows.length);
  if (!shown.length) return byId("lanes").replaceChildren(make("p", { class: "quiet" }, "Nothing was rolled out from here yet."));
  const width = byId("lanes").clientWidth || 800;
  const left = Math.min(110, 12 + 7 * Math.max(...shown.map((host) => host.host.length)));
  const tall = shown.length > 40 ? 9 : shown.length > 16 ? 13 : 20;
  const top = 20;
  const all = shown.flatMap(rowsOf);
  const last = data.made;
  const first = Math.min(...all.map((turn) => turn.at), last - 3600);
  const x = (at) => left + ((at - first) / (last - first)) * (width - left - 6);
  const paths = { rest: "", good: "", unsure: "", bad: "" };
  const svg = make("svg", { viewBox: `0 0 ${width} ${top + shown.length * tall + 4}`, role: "img",
    "aria-label": `${count(all.length, "transition")} of ${count(shown.length, "host")} since ${when(first)}; the table below has the newest` });
  const steps = width < 500 ? 3 : 8;
  for (let n = 0; n <= steps; n++) {
    const at = first + ((last - first) * n) / steps;
    svg.append(make("line", { class: "axis", x1: x(at), x2: x(at), y1: top - 4, y2: top + shown.length * tall }),
      make("text", { x: x(at), y: 11, "text-anchor": n === steps ? "end" : n ? "middle" : "start" }, last - first < 2 * 86400 ? when(at).slice(11) : day(at)));
  }
  shown.forEach((host, n) => {
    const y = top + n * tall;
    svg.append(make("rect", { class: "lane", x: left, y: y + 1, width: width - left, height: tall - 2, rx: 2 }));
    if (tall > 9 || n % 2 === 0) svg.append(make("text", { x: left - 8, y: y + tall / 2 + 4, "text-anchor": "end" }, host.host));
    for (const turn of rowsOf(host)) {
      paths[mood(turn.ended)] += `M${x(turn.at).toFixed(1)} ${y + 1}h3v${tall - 2}h-3z`;
    }
  });
  for (const [kind, d] of Object.entries(paths)) if (d) svg.append(make("path", { class: `f-${kind}`, d }));
  byId("lanes").replaceChildren(key([["good", "accepted, passed"], ["bad", "went back, failed, stuck"], ["unsure", "held, not judged"], ["rest", "other"]]), svg);
}

function rollouts() {
  const words = (counts) => Object.entries(counts).map(([name, n]) =>
    make("span", { class: `badge ${mood(name)}` }, `${n} ${name}`));
  const names = ["When (UTC)", "Verb", "Hosts", "Gates", "First that did not pass"];
  byId("rollouts").replaceChildren(data.rollouts.length ? growing(names, data.rollouts, (one) => make("tr", {},
    make("td", { class: "quiet when" }, when(one.at)), make("td", {}, one.verb, make("div", { class: "quiet small" }, one.by)),
    make("td", {}, make("div", { class: "gates" }, words(one.ended))),
    make("td", { class: "when" }, Object.entries(one.gates).map(([name, n]) => make("div", { class: `small ${SAYS[name[0]]}` }, `${n} ${name}`))),
    make("td", {}, one.bad, make("div", { class: "quiet small mono" }, one.id)))) : "");
}

// --- charts -----------------------------------------------------------------------------------

/** Points are [release, middle, least, most, n, at], oldest first. */
function chart(title, unit, points) {
  const width = Math.max(270, Math.min(380, (document.querySelector("main").clientWidth || 600) - 62));
  const [tall, left, right, top, below] = [190, 50, 14, 12, 34];
  const most = Math.max(...points.map((point) => point[3])) * 1.08;
  const x = (n) => left + (points.length === 1 ? 0.5 : n / (points.length - 1)) * (width - left - right);
  const y = (value) => top + (1 - value / most) * (tall - top - below);
  const newest = points[points.length - 1];
  const svg = make("svg", { viewBox: `0 0 ${width} ${tall}`, role: "img",
    "aria-label": `${title}: ${count(points.length, "release")}, newest ${newest[0]} at ${measured(newest[1], unit)}` });
  for (const share of [0, 0.5, 1]) {
    const value = (most / 1.08) * share;
    svg.append(make("line", { class: "axis", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      make("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, measured(value, unit).split(" ")[0]));
  }
  svg.append(make("path", { class: "line", d: points.map((point, n) => `${n ? "L" : "M"}${x(n).toFixed(1)} ${y(point[1]).toFixed(1)}`).join("") }));
  points.forEach((point, n) => {
    if (point[2] !== point[3]) svg.append(make("line", { class: "span", x1: x(n), x2: x(n), y1: y(point[2]), y2: y(point[3]) }));
    svg.append(make("circle", { class: n === points.length - 1 ? "dot last" : "dot", cx: x(n), cy: y(point[1]), r: n === points.length - 1 ? 4.5 : 3 },
      make("title", {}, `${point[0]}: ${measured(point[1], unit)} (${measured(point[2], unit)} to ${measured(point[3], unit)}, n ${point[4]})`)));
  });
  svg.append(make("text", { x: left, y: tall - 8 }, `${points[0][0].slice(0, 8)} · ${day(points[0][5])}`));
  if (points.length > 1) {
    svg.append(make("text", { x: width - right, y: tall - 8, "text-anchor": "end", class: "ink" }, `${newest[0].slice(0, 8)} · ${day(newest[5])}`));
  }
  const rows = points.slice().reverse().map((point) => make("tr", {},
    make("td", { class: "mono" }, point[0]), make("td", { class: "num" }, measured(point[1], unit)),
    make("td", { class: "num quiet" }, `${measured(point[2], unit)} – ${measured(point[3], unit)}`), make("td", { class: "num quiet" }, `n ${point[4]}`)));
  return make("div", {}, make("h3", { class: "title" }, title, make("span", { class: "quiet" }, measured(newest[1], unit))), svg,
    make("details", {}, make("summary", {}, "as a table"), make("div", { class: "scroll" }, make("table", { class: "small" }, make("tbody", {}, rows)))));
}

function charts() {
  const names = { decode: "Decode", ttft: "TTFT" };
  const made = data.charts.map((one) => {
    const title = [names[one.name], one.part, one.class && `(${one.class})`].filter(Boolean).join(" ");
    return make("div", { class: "card" }, chart(title, one.unit, one.points));
  });
  byId("charts").replaceChildren(...(made.length ? made : [make("p", { class: "quiet card" }, "No decode gate has measured anything yet.")]));
}

// --- cards ------------------------------------------------------------------------------------

function bar(share, kind, label) {
  const style = `width:${Math.min(100, 100 * share).toFixed(1)}%`;
  return make("div", { class: `bar ${kind} ${share > 0.97 ? "full" : ""}`, role: "img", "aria-label": label }, make("i", { style }));
}

function bars(shown, named = true) {
  const cells = [];
  for (const host of shown) {
    if (named) cells.push(make("div", { class: "group" }, host.host, make("span", { class: "quiet" }, host.cards[0] ? `  ${count(host.cards.length, "card")}, ${host.cards[0][1]}` : "")));
    for (const [index, name, used, total, heat, doing] of host.cards) {
      if (!total) continue;
      const text = `${gib(used || 0)} of ${gib(total)} GiB`;
      cells.push(make("div", { class: "small quiet", title: `${name}: ${doing}` }, `card ${index}${heat === null ? "" : ` · ${heat} °C`}`),
        bar((used || 0) / total, "", `${host.host} card ${index}: ${text}`), make("div", { class: "small num" }, text));
    }
    for (const [part, , , , kv] of host.engines) {
      if (kv === null) continue;
      cells.push(make("div", { class: "small quiet" }, `KV ${part}`), bar(kv / 1000, "kv", `${host.host} KV cache of ${part}: ${Math.floor(kv / 10)} %`),
        make("div", { class: "small num" }, host.kv ? `${Math.floor(kv / 10)} % of ${whole(host.kv)}` : `${Math.floor(kv / 10)} %`));
    }
  }
  return make("div", { class: "bars" }, cells);
}

function memories() {
  const shown = data.hosts.filter((host) => host.cards.length || host.engines.some((one) => one[4] !== null));
  if (!shown.length) return byId("memories").replaceChildren(make("p", { class: "quiet" }, "No host told of a card or a KV cache."));
  const half = Math.ceil(shown.length / 2);
  const columns = byId("memories").clientWidth > 760 && shown.length > 1 ? [shown.slice(0, half), shown.slice(half)] : [shown];
  byId("memories").replaceChildren(make("div", { class: "two" }, columns.map((some) => bars(some))));
}

function matrix(table, names) {
  const head = make("tr", {}, make("th", {}, ""), table.cells.map((_, n) => make("th", { scope: "col" }, String(n))));
  const rows = table.cells.map((row, a) => make("tr", {}, make("th", { scope: "row" }, String(a)), row.map((n, b) => {
    if (n < 0) return make("td", {}, make("span", { class: "self" }, a === b ? "·" : "?"));
    const [says, granted, wire] = table.ways[n];
    return make("td", { title: `card ${a} to ${b}: ${says}` }, make("span", { class: granted ? "yes" : "no" }, `${granted ? "" : "✕ "}${wire || "?"}`));
  })));
  const ways = table.ways.map(([says, granted]) => make("li", {}, `${granted ? "P2P" : "no P2P"}: ${says}`));
  return make("div", {}, make("h3", {}, names.slice(0, 6).join(", "), names.length > 6 ? ` and ${names.length - 6} more` : ""),
    make("p", { class: "small quiet" }, table.of),
    make("div", { class: "scroll" }, make("table", { class: "matrix", "aria-label": `what card may reach which, ${names[0]}` }, make("thead", {}, head), make("tbody", {}, rows))),
    make("ul", { class: "why small quiet" }, ways));
}

function matrices() {
  const made = data.p2p.map((table, n) =>
    make("div", { class: "card" }, matrix(table, data.hosts.filter((host) => host.p2p === n).map((host) => host.host))));
  byId("matrices").replaceChildren(...(made.length ? made : [make("p", { class: "quiet card" }, "No host told of two cards.")]));
}

function findings() {
  const rows = data.findings.map((one) => make("tr", {},
    make("td", {}, make("b", {}, one.says), make("div", { class: "quiet" }, one.help)),
    make("td", {}, one.hosts.slice(0, 8).join(", "), one.hosts.length > 8 ? ` and ${one.hosts.length - 8} more` : ""),
    make("td", { class: "quiet" }, `${ago(one.at)} ago`, make("div", { class: "mono small" }, one.id))));
  const head = ["What", "Hosts", "Last seen"].map((name) => make("th", { scope: "col" }, name));
  byId("finding-list").replaceChildren(rows.length
    ? make("table", { class: "list" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows))
    : make("p", { class: "quiet card" }, "No gate and no card told of a known condition."));
}

// --- all of it --------------------------------------------------------------------------------

const drawn = () => { lanes(); charts(); memories(); };
document.title = `${data.fleet}: ${count(data.hosts.length, "host")}`;
byId("fleet").textContent = data.fleet;
byId("made").textContent = `as of ${when(data.made)} UTC`;
tally();
hosts();
byId("skew").replaceChildren(...data.skew.map((text) => make("li", {}, text)));
rollouts();
matrices();
findings();
drawn();
let late = 0;
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(late);
  late = setTimeout(drawn, 120);
});
