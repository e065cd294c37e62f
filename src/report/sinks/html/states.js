/* SPDX-License-Identifier: MIT */
/* The states of threads over time: a lane for each thread. The data are described in html_states.c. */
const LANE = 20, LANE_NAMES = 190, LANE_TOP = 22; /* pixels */
const STATE_COLOURS = ["running", "ready", "disk", "lock", "sleep", "peer", "blocked", "condition", "work"];
const LEAST_TIME = 10; /* ns: the shortest time that fills the view */

/* A piece: {begin, end, name, cpu, node, waker}, or {begin, end, count, parts: [[name, ns], ...]}. */
function unpackPiece(next, last) {
	const begin = last + next(), end = begin + next(), head = next();
	if (head % 2) return {begin, end, name: (head - 1) / 2, cpu: next() - 1, node: next(), waker: next() - 1};
	const count = next(), parts = [];
	for (let i = 0; i < head / 2; i++) parts.push([next(), next()]);
	return {begin, end, count, parts};
}

function unpackLanes(packed) {
	const next = reader(packed.pieces);
	return packed.threads.map(([pid, tid, comm, count]) => {
		const pieces = [];
		for (let i = 0, last = 0; i < count; i++) {
			pieces.push(unpackPiece(next, last));
			last = pieces[i].end;
		}
		return {pid, tid, comm, pieces};
	});
}

/* The index of the last piece of a lane that begins at or before a time; -1: there is none. */
function pieceAt(lane, time) {
	let low = 0, high = lane.pieces.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (lane.pieces[middle].begin <= time) low = middle + 1;
		else high = middle;
	}
	return low - 1;
}

/* The functions of a node of the first tree, innermost first, without thread and process. */
function stackOfNode(node) {
	const m = models[0] ??= unpack(data.trees[0]), stack = [];
	for (; node > 0 && m.kinds[m.frame[node]] != TASK; node = m.parent[node]) stack.push(m.names[m.frame[node]]);
	return stack;
}

function makeStates(packed) {
	const lanes = unpackLanes(packed), view = $("lanes"), canvas = $("lanes-canvas"), mark = $("lanes-mark");
	const whole = Math.max(packed.length, LEAST_TIME), names = packed.names;
	let from = 0, to = whole, inks = {}, width = 0;
	let at = null; /* {lane, piece}: what is chosen */

	const laneName = lane => lane.tid == null ? lane.comm : `${lane.comm} ${lane.tid}`;
	const span = ns => inUnit("ns", ns);
	const xOf = time => LANE_NAMES + (time - from) / (to - from) * (width - LANE_NAMES);
	const timeOf = x => from + (x - LANE_NAMES) / (width - LANE_NAMES) * (to - from);
	const topOfLane = i => LANE_TOP + i * LANE - view.scrollTop;

	function chooseInks() {
		const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name);
		inks = {font: "12px " + colour("--sans"), ink: colour("--ink"), soft: colour("--soft"), card: colour("--card"),
			grid: colour("--grid")};
		inks.states = names.map((name, i) =>
			colour(STATE_COLOURS.includes(name) ? `--state-${name}` : `--series-${i % COLOURS}`));
	}

	/* ---- Painting ---- */

	/* Several states: each has a part of the height. */
	function paintPiece(pen, piece, x, w, top) {
		const height = LANE - 4;
		if (!piece.parts) {
			pen.fillStyle = inks.states[piece.name];
			pen.fillRect(x, top + 2, w, height);
			return;
		}
		const all = piece.parts.reduce((sum, [, ns]) => sum + ns, 0) || 1;
		let y = top + 2;
		for (const [name, ns] of piece.parts) {
			pen.fillStyle = inks.states[name];
			pen.fillRect(x, y, w, height * ns / all);
			y += height * ns / all;
		}
	}

	/* What is within a pixel that is painted already is not painted. */
	function paintLane(pen, lane, top) {
		let painted = -Infinity;
		for (let i = Math.max(pieceAt(lane, from), 0); i < lane.pieces.length; i++) {
			const piece = lane.pieces[i];
			if (piece.begin > to) break;
			if (piece.end < from) continue;
			const x = Math.max(xOf(piece.begin), LANE_NAMES), end = Math.min(xOf(piece.end), width);
			if (end < painted + .5) continue;
			paintPiece(pen, piece, x, Math.max(end - x, 1), top);
			painted = Math.max(end, x + 1);
		}
	}

	function paintNames(pen, first, last) {
		pen.fillStyle = inks.card;
		pen.fillRect(0, 0, LANE_NAMES, view.clientHeight);
		for (let i = first; i < last; i++) {
			const name = laneName(lanes[i]);
			pen.fillStyle = at?.lane == i ? inks.ink : inks.soft;
			pen.fillText(cut(name, 28), 8, topOfLane(i) + LANE / 2, LANE_NAMES - 16);
		}
	}

	/* The axis says how long after the start of the time line. */
	function paintAxis(pen) {
		pen.fillStyle = inks.card;
		pen.fillRect(0, 0, width, LANE_TOP);
		for (const length of ticks(0, to - from)) {
			const x = xOf(from + length), label = (from ? "+" : "") + span(length);
			pen.fillStyle = inks.grid;
			pen.fillRect(x, LANE_TOP - 4, 1, view.clientHeight);
			pen.fillStyle = inks.soft;
			pen.fillText(label, Math.min(x + 3, width - 50), LANE_TOP / 2);
		}
		pen.fillText(from ? "from " + span(from) : "", 8, LANE_TOP / 2);
	}

	function paintLanes() {
		const ratio = devicePixelRatio || 1, height = view.clientHeight;
		width = view.clientWidth;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = width + "px";
		canvas.style.height = height + "px";
		const pen = canvas.getContext("2d");
		pen.setTransform(ratio, 0, 0, ratio, 0, 0);
		pen.clearRect(0, 0, width, height);
		pen.font = inks.font;
		pen.textBaseline = "middle";
		const first = Math.floor(view.scrollTop / LANE), last = Math.min(lanes.length, first + Math.ceil(height / LANE) + 1);
		for (let i = first; i < last; i++) paintLane(pen, lanes[i], topOfLane(i));
		paintNames(pen, first, last);
		paintAxis(pen);
		paintMark();
		$("lanes-all").disabled = from == 0 && to == whole;
	}

	/* Where a piece is, in pixels of the view; null if it is not visible. */
	function boxOf(place) {
		if (!place) return null;
		const {begin, end} = lanes[place.lane].pieces[place.piece], x = Math.max(xOf(begin), LANE_NAMES);
		if (end < from || begin > to) return null;
		return {x, y: topOfLane(place.lane), width: Math.max(Math.min(xOf(end), width) - x, 2), height: LANE};
	}

	function paintMark() {
		const box = boxOf(at);
		mark.style.display = box && box.y >= LANE_TOP - LANE / 2 ? "block" : "none";
		if (!box) return;
		mark.style.left = box.x - 1 + "px";
		mark.style.top = box.y + view.scrollTop + "px";
		mark.style.width = box.width + 2 + "px";
		mark.style.height = LANE + "px";
	}

	let pendingLanes = 0;
	const soon = () => pendingLanes ||= requestAnimationFrame(() => { pendingLanes = 0; paintLanes(); });

	/* ---- What a piece is ---- */

	const wakerName = ([comm, pid, tid]) =>
		tid == null ? comm : `${comm}, thread ${tid}${pid == tid ? "" : ` of process ${pid}`}`;

	function heading(place) {
		const lane = lanes[place.lane], piece = lane.pieces[place.piece], length = span(piece.end - piece.begin);
		const where = `${laneName(lane)}, at ${span(piece.begin)}`;
		if (piece.parts) return [`${grouped(piece.count)} states in ${length}`, where];
		return [`${names[piece.name]} ${length}`, piece.cpu < 0 ? where : `${where}, CPU ${piece.cpu}`];
	}

	/* [label, lines] of each part. */
	function facts(place) {
		const piece = lanes[place.lane].pieces[place.piece], list = [];
		if (piece.parts) {
			const sorted = [...piece.parts].sort((a, b) => b[1] - a[1]);
			return [["", sorted.map(([name, ns]) => `${names[name]} ${span(ns)}`)]];
		}
		if (piece.waker >= 0) {
			const waker = packed.wakers[piece.waker];
			list.push([`Woken up by ${wakerName(waker)}`, waker[3] ? waker[3].split(" < ") : []]);
		}
		if (piece.node) list.push(["Stack", stackOfNode(piece.node)]);
		return list;
	}

	function showPiece() {
		if (!at) {
			$("state").replaceChildren(element("p", "soft",
				"Click a state for its stack and what ended it. Arrow keys go from state to state, + and - zoom."));
			return;
		}
		const [title, where] = heading(at);
		const first = element("p");
		first.append(element("b", "", title), element("span", "soft", " " + where));
		$("state").replaceChildren(first, ...facts(at).map(([label, lines]) => {
			const part = element("div", "part"), frames = element("ol");
			part.append(element("h3", "", label), frames);
			frames.append(...lines.map(line => element("li", "", cut(line, 300))));
			return part;
		}));
	}

	function tipOf(event, place) {
		const tip = $("tip");
		tip.style.display = place ? "block" : "none";
		if (!place) return;
		const [title, where] = heading(place), lines = facts(place).flatMap(([label, all]) =>
			[label, ...all.slice(0, 8), ...(all.length > 8 ? ["…"] : [])]).filter(Boolean);
		tip.replaceChildren(element("b", "", title), element("div", "home", where),
			...lines.map(line => element("div", "", cut(line, 120))));
		const box = tip.getBoundingClientRect();
		tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
		tip.style.top = Math.max(4, event.clientY + 18 + box.height > innerHeight
			? event.clientY - box.height - 10 : event.clientY + 18) + "px";
	}

	/* ---- Moving ---- */

	function choosePiece(lane, piece) {
		lane = Math.max(0, Math.min(lane, lanes.length - 1));
		at = {lane, piece: Math.max(0, Math.min(piece, lanes[lane].pieces.length - 1))};
		const {begin, end} = lanes[lane].pieces[at.piece], top = lane * LANE, room = view.clientHeight - LANE_TOP - LANE;
		if (end < from || begin > to) moveTo((begin + end) / 2 - (to - from) / 2, to - from);
		view.scrollTop = Math.min(top, Math.max(view.scrollTop, top - room));
		showPiece();
		paintLanes();
	}

	function moveTo(begin, length) {
		length = Math.max(LEAST_TIME, Math.min(length, whole));
		from = Math.max(0, Math.min(begin, whole - length));
		to = from + length;
		soon();
	}

	/* middle: the time that stays where it is. */
	function zoomBy(factor, middle) {
		const share = (middle - from) / (to - from), length = Math.max(LEAST_TIME, Math.min((to - from) * factor, whole));
		moveTo(middle - share * length, length);
	}

	const middleOfView = () => {
		const box = at && boxOf(at), piece = box && lanes[at.lane].pieces[at.piece];
		return piece ? (Math.max(piece.begin, from) + Math.min(piece.end, to)) / 2 : (from + to) / 2;
	};

	function zoomToPiece() {
		if (!at) return;
		const {begin, end} = lanes[at.lane].pieces[at.piece];
		moveTo(begin - (end - begin) * .1, (end - begin) * 1.2);
	}

	const showAll = () => moveTo(0, whole);
	const toLane = step => {
		const {begin, end} = lanes[at.lane].pieces[at.piece], lane = Math.max(0, Math.min(at.lane + step, lanes.length - 1));
		choosePiece(lane, pieceAt(lanes[lane], (begin + end) / 2));
	};
	const keys = {
		ArrowLeft: () => choosePiece(at.lane, at.piece - 1), ArrowRight: () => choosePiece(at.lane, at.piece + 1),
		ArrowUp: () => toLane(-1), ArrowDown: () => toLane(1),
		Home: () => choosePiece(at.lane, 0), End: () => choosePiece(at.lane, Infinity),
		"+": () => zoomBy(.5, middleOfView()), "=": () => zoomBy(.5, middleOfView()),
		"-": () => zoomBy(2, middleOfView()), Enter: zoomToPiece, Escape: showAll,
	};

	/* ---- Events ---- */

	function pointedPiece(event) {
		const box = view.getBoundingClientRect(), x = event.clientX - box.left - view.clientLeft;
		const y = event.clientY - box.top - view.clientTop, lane = Math.floor((y - LANE_TOP + view.scrollTop) / LANE);
		if (x < LANE_NAMES || y < LANE_TOP || !lanes[lane]) return null;
		const slack = (to - from) / (width - LANE_NAMES), piece = pieceAt(lanes[lane], timeOf(x) + slack / 2);
		return piece >= 0 && timeOf(x) <= lanes[lane].pieces[piece].end + slack ? {lane, piece} : null;
	}

	function onLaneKey(event) {
		if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		event.stopPropagation();
		if (at) keys[event.key]();
		else choosePiece(0, 0);
	}

	function onWheel(event) {
		if (!event.ctrlKey && !event.deltaX) return;
		event.preventDefault();
		if (event.ctrlKey) zoomBy(event.deltaY > 0 ? 1.25 : .8, timeOf(event.clientX - view.getBoundingClientRect().left));
		else moveTo(from + event.deltaX * (to - from) / (width - LANE_NAMES), to - from);
	}

	function wireLanes() {
		view.addEventListener("pointermove", event => tipOf(event, pointedPiece(event)));
		view.addEventListener("pointerleave", event => tipOf(event, null));
		view.addEventListener("click", event => {
			const place = pointedPiece(event);
			if (place) choosePiece(place.lane, place.piece);
		});
		view.addEventListener("dblclick", zoomToPiece);
		view.addEventListener("scroll", soon);
		view.addEventListener("wheel", onWheel, {passive: false});
		view.addEventListener("keydown", onLaneKey);
		$("lanes-in").addEventListener("click", () => zoomBy(.5, middleOfView()));
		$("lanes-out").addEventListener("click", () => zoomBy(2, middleOfView()));
		$("lanes-all").addEventListener("click", showAll);
		dark.addEventListener("change", () => { chooseInks(); showStateLegend(); paintLanes(); });
		new ResizeObserver(() => { if (view.clientWidth != width) paintLanes(); }).observe(view);
	}

	function showStateLegend() {
		$("lanes-legend").replaceChildren(...names.map((name, i) => {
			const item = element("li"), swatch = element("i");
			swatch.style.background = inks.states[i];
			item.append(swatch, cut(name, 40));
			return item;
		}));
	}

	/* What the page does not show. */
	function showLimits() {
		const lines = [];
		if (packed.merged)
			lines.push(`${grouped(packed.merged)} states shorter than ${span(packed.resolution)} are drawn together.`);
		if (packed.threadsLeftOut)
			lines.push(`${grouped(packed.threadsLeftOut)} threads with the fewest states are left out ` +
				`(${grouped(packed.statesLeftOut)} states).`);
		$("lanes-limits").textContent = lines.join(" ");
	}

	$("states").hidden = false;
	$("states-name").textContent = packed.name;
	$("lanes-room").style.height = LANE_TOP + lanes.length * LANE + "px";
	view.style.height = Math.min(LANE_TOP + lanes.length * LANE, 420) + 2 + "px";
	chooseInks();
	wireLanes();
	showStateLegend();
	showLimits();
	showPiece();
	paintLanes();
	return {
		lanes: () => lanes.map(lane => ({...lane, pieces: lane.pieces.map(piece => piece.parts
			? {...piece, parts: piece.parts.map(([name, ns]) => [names[name], ns])}
			: {...piece, name: names[piece.name], node: undefined, stack: stackOfNode(piece.node),
				waker: packed.wakers[piece.waker] ?? null})})),
		view: () => ({from, to, chosen: at}),
		piece(lane, piece) {
			const box = boxOf({lane, piece}), place = view.getBoundingClientRect();
			return box && {...box, x: box.x + place.left + view.clientLeft, y: box.y + place.top + view.clientTop};
		},
	};
}
