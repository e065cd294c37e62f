/* SPDX-License-Identifier: MIT */
/* The flame graph. */
const ROW = 19, LEAST = 0.5; /* pixels: the height of a frame, the width below which it is not drawn */
const KINDS = ["User", "Kernel", "Inlined", "JIT", "Unknown", "Process"];
const TASK = 5, NONE = -1;

const weight = value => inUnit(model.unit, value);

/* ---- The packed tree, see html_tree.c ---- */

const DIGITS = "!#$%&'()*+,-./0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~";
const VALUE = new Uint8Array(128);
for (let i = 0; i < DIGITS.length; i++) VALUE[DIGITS.charCodeAt(i)] = i;

function reader(text) {
	let at = 0;
	return () => {
		for (let value = 0, place = 1; ; place *= 27) {
			const digit = VALUE[text.charCodeAt(at++)];
			if (digit < 64) return value + digit * place;
			value += (digit - 64) * place;
		}
	};
}

function unpackNames(packed) {
	const shared = reader(packed.shared);
	let last = "";
	return packed.names.map(rest => last = last.slice(0, shared()) + rest);
}

/* Node 0 is the root of all; a node's descendants follow it, up to end[node]. */
function unpack(packed) {
	const n = packed.count + 1, next = reader(packed.nodes), home = reader(packed.homes), fans = [];
	const m = {
		name: packed.name, unit: packed.unit, modules: packed.modules, n,
		names: unpackNames(packed), kinds: Array.from(packed.kinds, Number),
		parent: new Int32Array(n), frame: new Int32Array(n), depth: new Int32Array(n),
		end: new Int32Array(n), self: new Float64Array(n), own: null, total: new Float64Array(n),
		task: new Int32Array(n), tasks: packed.tasks, filtered: false,
		changes: packed.changes,
	};
	m.homes = m.kinds.map(() => home());
	m.frame[0] = m.parent[0] = NONE;
	for (let i = 1; i < n; i++) {
		const head = next(), edge = Math.floor(head / 4);
		let frame = edge ? 0 : next(), parent = i - 1;
		for (let up = head & 2 ? next() : 0; up > 0; up--) parent = m.parent[parent];
		m.self[i] = head & 1 ? next() * packed.scale : 0;
		const fan = fans[m.frame[parent] + 1] ??= [];
		if (edge) frame = fan[edge - 1];
		else fan.push(frame);
		m.parent[i] = parent;
		m.frame[i] = frame;
		m.depth[i] = m.depth[parent] + 1;
	}
	for (let i = n - 1; i >= 0; i--) {
		m.end[i] = Math.max(m.end[i], i + 1);
		if (i) m.end[m.parent[i]] = Math.max(m.end[m.parent[i]], m.end[i]);
	}
	/* The nearest task above each node: an index of tasks, or NONE. */
	m.task.fill(NONE);
	m.tasks.forEach((task, row) => m.task[task[0] + 1] = row);
	for (let i = 1; i < n; i++)
		if (m.task[i] == NONE) m.task[i] = m.task[m.parent[i]];
	return m;
}

/* The weights of nodes that pass the filter keep(index of tasks). */
function weigh(m, keep) {
	m.filtered = !!keep;
	m.own = keep ? m.self.map((w, i) => m.task[i] != NONE && keep(m.tasks[m.task[i]]) ? w : 0) : m.self;
	m.total.set(m.own);
	for (let i = m.n - 1; i > 0; i--) m.total[m.parent[i]] += m.total[i];
}

const nameOf = node => node ? model.names[model.frame[node]] : "all";
const kindOf = node => node ? model.kinds[model.frame[node]] : TASK;
const homeOf = node => node ? model.modules[model.homes[model.frame[node]]] : "";

function children(node) {
	const list = [];
	for (let c = node + 1; c < model.end[node]; c = model.end[c])
		if (model.total[c] > 0) list.push(c);
	if (byName) list.sort((a, b) => model.frame[a] - model.frame[b]);
	else if (model.filtered) list.sort((a, b) => model.total[b] - model.total[a]);
	return list;
}

/* ---- State ---- */

const models = data.trees.map(() => null);
let model, zoom = 0, chosen = NONE, hovered = NONE, flame = true, byName = false;
let pattern = null, matches = null;
let rows = [];  /* by depth: {x, width, node}, parallel arrays from left to right */
let width = 0, colours = [], shades = [], inks = {};

/* ---- Layout: which frames are wide enough to be drawn, and where ---- */

function place(depth, x, w, node) {
	const row = rows[depth] ??= {x: [], width: [], node: []};
	row.x.push(x);
	row.width.push(w);
	row.node.push(node);
}

/* The children of a node as boxes; those too thin to be visible are merged into one box. */
function placeChildren(node, x, scale, push) {
	const list = children(node), depth = model.depth[node] + 1;
	let thin = 0;
	const flush = () => {
		if (thin >= LEAST) place(depth, x - thin, thin, NONE);
		thin = 0;
	};
	for (const child of list) {
		const w = model.total[child] * scale;
		if (w < LEAST) {
			thin += w;
			x += w;
			continue;
		}
		flush();
		place(depth, x, w, child);
		push(child, x);
		x += w;
	}
	flush();
}

function layout() {
	rows = [];
	width = $("view").clientWidth;
	for (let node = zoom; node != NONE; node = model.parent[node]) {
		place(model.depth[node], 0, width, node);
	}
	const whole = model.total[zoom], scale = width / whole;
	for (let open = whole > 0 ? [[zoom, 0]] : []; open.length;) {
		const [node, x] = open.pop(), found = [];
		placeChildren(node, x, scale, (child, at) => found.push([child, at]));
		for (let i = found.length; i-- > 0;) open.push(found[i]);
	}
	$("room").hidden = !(whole > 0);
	$("nothing").hidden = whole > 0;
	$("nothing").textContent = model.filtered ? "This process or thread has no samples here." : "No samples.";
}

const graphHeight = () => rows.length * ROW + 2;
const topOf = depth => flame ? graphHeight() - 1 - (depth + 1) * ROW : depth * ROW + 1;
const depthAt = y => Math.floor(flame ? (graphHeight() - 1 - y) / ROW : (y - 1) / ROW);

/* The index of the last box of a row that starts at or before x. */
function boxAt(row, x) {
	let low = 0, high = row.x.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (row.x[middle] <= x) low = middle + 1;
		else high = middle;
	}
	return low - 1;
}

/* ---- Painting ---- */

function hash(text) {
	let h = 2166136261;
	for (let i = 0; i < Math.min(text.length, 64); i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return h >>> 0;
}

const HUES = 5, TONES = 5;
const dark = matchMedia("(prefers-color-scheme: dark)");

/* By kind: hue and its range, saturation, lightness and its range; on white and on black. */
const PAINT = [
	{light: [22, 24, 88, 66, 9], dark: [14, 24, 56, 31, 9]},
	{light: [196, 22, 62, 66, 9], dark: [200, 20, 44, 33, 9]},
	{light: [266, 22, 52, 77, 7], dark: [266, 18, 30, 37, 8]},
	{light: [130, 26, 38, 64, 9], dark: [132, 20, 34, 26, 8]},
	{light: [40, 0, 4, 72, 8], dark: [40, 0, 4, 32, 8]},
	{light: [220, 10, 16, 82, 6], dark: [220, 10, 14, 26, 6]},
];

function choosePaint() {
	const style = getComputedStyle(document.documentElement), night = dark.matches;
	colours = PAINT.map(paints => {
		const [hue, hueSpan, saturation, light, span] = night ? paints.dark : paints.light;
		return Array.from({length: HUES * TONES}, (_, i) => `hsl(${
			hue + hueSpan * Math.floor(i / TONES) / HUES} ${saturation}% ${light + span * (i % TONES) / TONES}%)`);
	});
	inks = night ? {text: "#f5f1ea", match: "hsl(322 66% 44%)", thin: "rgb(255 255 255 / 12%)"}
		: {text: "#1c1a17", match: "hsl(322 90% 72%)", thin: "rgb(0 0 0 / 10%)"};
	inks.font = "12px " + style.getPropertyValue("--mono");
	shades = [];
}

/* Of a difference: red has grown, blue has shrunk, grey is as before. */
function tint(change) {
	const strength = Math.abs(change) / 100, light = dark.matches ? 26 + 14 * strength : 86 - 26 * strength;
	return `hsl(${change > 0 ? 4 : 214} ${Math.round(75 * strength)}% ${Math.round(light)}%)`;
}

const changeOf = node => node ? model.changes[node - 1] : 0;

/* The kind selects the color, the module its hue, the name its tone: a library has one hue. */
function shade(node) {
	if (model.changes) return tint(changeOf(node));
	const frame = model.frame[node], pick = () =>
		colours[kindOf(node)][hash(homeOf(node)) % HUES * TONES + hash(nameOf(node)) % TONES];
	return shades[frame + 1] ??= pick();
}

/* "std::vector<int>::size() const" is shortened to "size" if it does not fit. */
function brief(name) {
	let plain = name;
	for (let i = 0; i < 8 && plain.includes("<"); i++) plain = plain.replace(/<[^<>]*>/g, "");
	plain = plain.replace(/(?!^)\(.*$/s, "");
	const at = plain.lastIndexOf("::") + 2;
	return at > 1 && at < plain.length ? plain.slice(at) : plain || name;
}

const label = (name, room) => name.length > room ? cut(brief(name.slice(0, 2000)), room) : name;

const isMatch = node => matches !== null && node > 0 && matches[model.frame[node]] == 1;

function paintRow(pen, row, top, letter, past) {
	for (let i = 0; i < row.x.length; i++) {
		const node = row.node[i], x = row.x[i], w = row.width[i];
		pen.globalAlpha = past ? 0.5 : 1;
		pen.fillStyle = node == NONE ? inks.thin : isMatch(node) ? inks.match : shade(node);
		pen.fillRect(x, top, w > 3 ? w - 1 : w, ROW - 1);
		if (node == NONE || w < 3 * letter + 8) continue;
		const text = label(nameOf(node), Math.floor((w - 8) / letter));
		pen.fillStyle = inks.text;
		pen.globalAlpha = past ? 0.75 : 1;
		pen.fillText(text, x + 4, top + ROW / 2 - 0.5, w - 6);
	}
}

function paint() {
	const view = $("view"), canvas = $("canvas"), height = view.clientHeight, ratio = devicePixelRatio || 1;
	if (canvas.width != Math.round(width * ratio) || canvas.height != Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = width + "px";
		canvas.style.height = height + "px";
	}
	const pen = canvas.getContext("2d"), scroll = view.scrollTop;
	pen.setTransform(ratio, 0, 0, ratio, 0, 0);
	pen.clearRect(0, 0, width, height);
	pen.font = inks.font;
	pen.textBaseline = "middle";
	const letter = pen.measureText("m").width;
	rows.forEach((row, depth) => {
		const top = topOf(depth) - scroll;
		if (top > -ROW && top < height) paintRow(pen, row, top, letter, depth < model.depth[zoom]);
	});
	markBox($("hover"), hovered);
	markBox($("chosen"), chosen);
}

/* The position of a node in pixels of the graph; null if it is too thin. */
function rectOf(node) {
	const row = node == NONE ? undefined : rows[model.depth[node]];
	const i = row ? row.node.indexOf(node) : -1;
	if (i < 0) return null;
	return {x: row.x[i], y: topOf(model.depth[node]), width: row.width[i], height: ROW};
}

function markBox(mark, node) {
	const rect = rectOf(node);
	mark.style.display = rect ? "block" : "none";
	if (!rect) return;
	mark.style.left = rect.x - 0.5 + "px";
	mark.style.top = rect.y - 1 + "px";
	mark.style.width = Math.max(rect.width, 3) + "px";
	mark.style.height = ROW + 1 + "px";
}

let pending = 0;
const paintSoon = () => pending ||= requestAnimationFrame(() => { pending = 0; paint(); });

/* Updates the layout; keep: do not scroll to the first frames. */
function redraw(keep) {
	const view = $("view"), foot = graphHeight() - view.scrollTop - view.clientHeight;
	layout();
	const most = Math.max(260, innerHeight - view.getBoundingClientRect().top - scrollY - 90);
	view.style.height = rows.length ? Math.min(graphHeight() + 2, most) + "px" : "";
	if (view.clientWidth != width) layout(); /* a scroll bar appeared or disappeared */
	$("room").style.height = graphHeight() + "px";
	if (!keep) view.scrollTop = flame ? graphHeight() : 0;
	else if (flame) view.scrollTop = graphHeight() - view.clientHeight - foot;
	$("reset").disabled = zoom == 0;
	showMatched();
	showLegend();
	showDetail();
	paint();
}

/* ---- Details of a frame ---- */

function shares(value) {
	let text = `${percent(value / model.total[0])}, ${weight(value)}`;
	if (zoom) text += ` (${percent(value / model.total[zoom])} of this view)`;
	return text;
}

function showTip(event) {
	const tip = $("tip");
	tip.style.display = hovered == NONE ? "none" : "block";
	if (hovered == NONE) return;
	const home = homeOf(hovered), kind = KINDS[kindOf(hovered)];
	tip.replaceChildren(element("b", "", cut(nameOf(hovered), 600)),
		element("div", "home", hovered ? cut(home ? `${home} · ${kind}` : kind, 300) : "everything"),
		element("div", "", "Total " + shares(model.total[hovered])),
		element("div", "", "Self " + shares(model.own[hovered])));
	const box = tip.getBoundingClientRect();
	const right = event.clientX + 14 + box.width > innerWidth, under = event.clientY + 18 + box.height > innerHeight;
	tip.style.left = Math.max(4, right ? event.clientX - box.width - 10 : event.clientX + 14) + "px";
	tip.style.top = Math.max(4, under ? event.clientY - box.height - 10 : event.clientY + 18) + "px";
}

function describe(node) {
	const home = homeOf(node);
	return ` ${home ? home + ", " : ""}total ${shares(model.total[node])}; self ${shares(model.own[node])}`;
}

function showDetail() {
	const text = $("text"), node = chosen;
	$("copy").hidden = node == NONE;
	if (node == NONE) {
		text.replaceChildren(element("span", "", "Click a frame to zoom, press ? for keys."));
		return;
	}
	text.replaceChildren(element("b", "", nameOf(node)), element("span", "", describe(node)));
	$("live").textContent = cut(nameOf(node), 200) + describe(node);
}

function showLegend() {
	if (model.changes) {
		$("legend").replaceChildren(...[["more than before", 100], ["less", -100]].map(([name, change]) => {
			const item = element("li"), swatch = element("i");
			swatch.style.background = tint(change);
			item.append(swatch, name);
			return item;
		}));
		return;
	}
	const sums = KINDS.map(() => 0);
	for (let i = zoom; i < model.end[zoom]; i++) sums[kindOf(i)] += model.own[i];
	const used = KINDS.map((_, kind) => kind != TASK && model.kinds.includes(kind));
	$("legend").replaceChildren(...KINDS.flatMap((name, kind) => {
		if (!used[kind]) return [];
		const item = element("li"), swatch = element("i");
		swatch.style.background = colours[kind][0];
		item.append(swatch, `${name} ${percent(sums[kind] / (model.total[zoom] || 1))}`);
		return [item];
	}));
}

/* ---- Search ---- */

function compile(text) {
	const flags = /[A-Z]/.test(text) ? "" : "i";
	try {
		return new RegExp(text, flags);
	} catch {
		return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), flags);
	}
}

function search(text) {
	pattern = text ? compile(text) : null;
	matches = pattern && Uint8Array.from(model.names, name => pattern.test(name) ? 1 : 0);
	showMatched();
	paint();
}

/* The share of the view at or below matching frames: each stack counts once. */
function matchedWeight() {
	let sum = 0;
	for (let i = zoom; i < model.end[zoom];) {
		if (isMatch(i)) {
			sum += model.total[i];
			i = model.end[i];
		} else {
			i++;
		}
	}
	return sum;
}

function showMatched() {
	const out = $("matched"), sum = matches ? matchedWeight() : 0;
	out.className = sum ? "found" : "";
	out.textContent = !matches ? "" : sum ? `${percent(sum / model.total[zoom])} matched` : "no match";
}

function toMatch(step) {
	const found = rows.flatMap(row => row.node.filter(isMatch));
	if (!found.length) return;
	const at = found.indexOf(chosen);
	choose(found[at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length]);
}

/* ---- Navigation ---- */

function choose(node) {
	chosen = node;
	const rect = rectOf(node), view = $("view");
	if (rect && rect.y < view.scrollTop) view.scrollTop = rect.y - ROW;
	else if (rect && rect.y + ROW > view.scrollTop + view.clientHeight)
		view.scrollTop = rect.y + 2 * ROW - view.clientHeight;
	showDetail();
	paint();
}

function zoomTo(node) {
	zoom = node;
	chosen = node == 0 ? NONE : node;
	hovered = NONE;
	$("tip").style.display = "none";
	redraw();
	if (chosen != NONE) choose(chosen);
}

function beside(step) {
	const row = rows[model.depth[chosen]], at = row.node.indexOf(chosen);
	for (let i = at + step; row.node[i] !== undefined; i += step)
		if (row.node[i] != NONE) return row.node[i];
	return chosen;
}

function towardsLeaf() {
	const row = rows[model.depth[chosen] + 1], inside = node => node != NONE && model.parent[node] == chosen;
	const list = row ? row.node.filter(inside) : [];
	return list.reduce((best, node) => model.total[node] > model.total[best] ? node : best, list[0] ?? chosen);
}

const towardsRoot = () => Math.max(model.parent[chosen], 0);

const KEYS = {
	ArrowLeft: () => choose(beside(-1)),
	ArrowRight: () => choose(beside(1)),
	ArrowUp: () => choose(flame ? towardsLeaf() : towardsRoot()),
	ArrowDown: () => choose(flame ? towardsRoot() : towardsLeaf()),
	Home: () => choose(zoom),
	Enter: () => zoomTo(chosen),
	" ": () => zoomTo(chosen),
	Backspace: () => zoomTo(Math.max(model.parent[zoom], 0)),
	n: () => toMatch(1),
	p: () => toMatch(-1),
	c: copyName,
	f: () => setFlame(!flame),
	s: () => setByName(!byName),
	"/": () => $("search").focus(),
	"?": () => $("keys").showModal(),
	Escape: () => {
		if (!matches) return zoomTo(0);
		$("search").value = "";
		search("");
	},
};

function onKey(event) {
	const typing = event.target.matches("input, select, dialog *");
	const act = Object.hasOwn(KEYS, event.key) && KEYS[event.key];
	if (!act || event.ctrlKey || event.metaKey || event.altKey || (typing && event.key != "Escape")) return;
	if ((event.key == "Enter" || event.key == " ") && event.target.matches("button")) return;
	if ($("keys").open) return;
	event.preventDefault();
	if (rectOf(chosen) == null) chosen = zoom;
	act();
}

async function copyName() {
	if (chosen == NONE) return;
	const text = nameOf(chosen);
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		/* Some browsers do not give pages from files access to the clipboard. */
		const area = element("textarea", "quiet");
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
		$("view").focus();
	}
	$("copy").textContent = "Copied";
	setTimeout(() => $("copy").textContent = "Copy name", 1500);
}

/* ---- Controls ---- */

function setPressed(on, off) {
	$(on).setAttribute("aria-pressed", "true");
	$(off).setAttribute("aria-pressed", "false");
}

function setFlame(value) {
	flame = value;
	setPressed(flame ? "up" : "down", flame ? "down" : "up");
	redraw();
}

function setByName(value) {
	byName = value;
	setPressed(byName ? "by-name" : "by-weight", byName ? "by-weight" : "by-name");
	redraw(true);
}

/* The processes by weight, each with its threads if it has more than one. */
function processes() {
	const found = new Map();
	for (const [node, pid, tid] of model.tasks) {
		const process = found.get(pid) ?? {pid, name: "", weight: 0, threads: new Map()};
		const thread = process.threads.get(tid) ?? {tid, name: model.names[model.frame[node + 1]], weight: 0};
		const inner = model.parent[node + 1] > 0 && model.task[model.parent[node + 1]] != NONE;
		if (!inner) process.weight += model.total[node + 1];
		thread.weight += model.total[node + 1];
		if (!process.name || tid == 0) process.name = thread.name;
		process.threads.set(tid, thread);
		found.set(pid, process);
	}
	return [...found.values()].sort((a, b) => b.weight - a.weight);
}

function fillTasks() {
	const select = $("task"), option = (value, text) => {
		const o = element("option", "", cut(text, 80));
		o.value = value;
		select.append(o);
	};
	select.replaceChildren();
	option("", "All processes");
	for (const process of processes()) {
		const share = w => percent(w / model.total[0]), threads = [...process.threads.values()].filter(t => t.tid);
		const label = process.name.includes(String(process.pid)) ? process.name : `${process.name} (${process.pid})`;
		option(`${process.pid}`, `${label}  ${share(process.weight)}`);
		if (threads.length < 2) continue;
		for (const thread of threads.sort((a, b) => b.weight - a.weight))
			option(`${process.pid}/${thread.tid}`,
				`\u00a0\u00a0\u00a0thread ${thread.tid} ${thread.name}  ${share(thread.weight)}`);
	}
	select.hidden = select.length < 2;
}

function filter(value) {
	const [pid, tid] = value.split("/").map(Number);
	weigh(model, value == "" ? null : task => task[1] == pid && (tid === undefined || task[2] == tid));
	if (!(model.total[zoom] > 0)) zoom = 0;
	chosen = hovered = NONE;
	redraw();
}

function openTree(index) {
	model = models[index] ??= unpack(data.trees[index]);
	shades = [];
	zoom = 0;
	chosen = hovered = NONE;
	weigh(model, null);
	fillTasks();
	matches = null;
	if ($("search").value) search($("search").value);
	showFacts();
	redraw();
}

function pointed(event) {
	const box = $("view").getBoundingClientRect(), x = event.clientX - box.left - $("view").clientLeft;
	const row = rows[depthAt(event.clientY - box.top - $("view").clientTop + $("view").scrollTop)];
	const i = row ? boxAt(row, x) : -1;
	return i >= 0 && x < row.x[i] + Math.max(row.width[i], 1) ? row.node[i] : NONE;
}

function hover(event) {
	const node = event ? pointed(event) : NONE;
	if (node != hovered) {
		hovered = node;
		markBox($("hover"), hovered);
	}
	showTip(event);
}

function wire() {
	const canvas = $("canvas");
	canvas.addEventListener("pointermove", hover);
	canvas.addEventListener("pointerleave", () => hover(null));
	canvas.addEventListener("click", event => {
		const node = pointed(event);
		if (node != NONE) zoomTo(node);
	});
	$("view").addEventListener("scroll", () => { hover(null); paintSoon(); });
	$("search").addEventListener("input", event => search(event.target.value));
	$("tree").addEventListener("change", event => openTree(Number(event.target.value)));
	$("task").addEventListener("change", event => filter(event.target.value));
	$("up").addEventListener("click", () => setFlame(true));
	$("down").addEventListener("click", () => setFlame(false));
	$("by-weight").addEventListener("click", () => setByName(false));
	$("by-name").addEventListener("click", () => setByName(true));
	$("reset").addEventListener("click", () => zoomTo(0));
	$("help").addEventListener("click", () => $("keys").showModal());
	$("copy").addEventListener("click", copyName);
	document.addEventListener("keydown", onKey);
	dark.addEventListener("change", () => { choosePaint(); redraw(true); });
	addEventListener("resize", () => redraw(true));
	/* The page's scroll bar can appear or disappear without a resize event. */
	new ResizeObserver(() => { if ($("view").clientWidth != width) redraw(true); }).observe($("view"));
}

/* ---- Title and notes ---- */

function showFacts() {
	const facts = [];
	if (data.command) facts.push(element("code", "", data.command));
	if (data.when) facts.push(element("span", "", data.when));
	if (data.span) facts.push(element("span", "", data.span));
	if (model) facts.push(element("span", "", `${model.name}: ${weight(model.total[0])}`));
	$("title").textContent = data.title;
	$("facts").replaceChildren(...facts);
}

function showNotes() {
	$("doubt").hidden = !data.doubt;
	$("doubt").textContent = data.doubt ? data.remarks[0] : "";
	const lines = data.remarks.slice(data.doubt).map(text => element("p", "", "Note: " + text));
	if (data.notes) lines.push(element("p", data.lost ? "lost" : "", data.notes));
	lines.push(element("p", "", `Made by attar ${data.version}.`));
	$("notes").replaceChildren(...lines);
}

/* ---- Start ---- */

showFacts();
showNotes();
data.tables.forEach(drawSection);
if (data.trees.length) {
	$("flame").hidden = false;
	data.trees.forEach((tree, i) => $("tree").append(new Option(tree.name, i)));
	$("tree").hidden = data.trees.length < 2;
	choosePaint();
	wire();
	setPressed("up", "down");
	setPressed("by-weight", "by-name");
	openTree(0);
}
const states = data.states.filter(packed => packed.threads.length).map(makeStates)[0];

/* For tests: the position of the first frame with a name, and the state of the view. */
window.attar = {
	states,
	rect(name) {
		const node = rows.flatMap(row => row.node).find(n => n != NONE && nameOf(n) == name);
		const rect = node === undefined ? null : rectOf(node), box = $("view").getBoundingClientRect();
		return rect && {x: box.left + 1 + rect.x, y: box.top + 1 + rect.y - $("view").scrollTop,
			width: rect.width, height: rect.height};
	},
	state: () => ({zoom: nameOf(zoom), chosen: chosen == NONE ? null : nameOf(chosen), flame, byName,
		total: model.total[zoom], nodes: model.n - 1, drawn: rows.reduce((n, row) => n + row.x.length, 0)}),
	stacks() {
		const list = [];
		for (let i = 1; i < model.n; i++) {
			const stack = [];
			if (model.self[i] > 0) {
				for (let at = i; at > 0; at = model.parent[at]) stack.unshift(nameOf(at));
				list.push([stack, model.self[i]]);
			}
		}
		return list;
	},
};
