/* SPDX-License-Identifier: MIT */
/* Histograms and time series as SVG, redrawn for each width of the window. */
const MARGIN = {left: 78, right: 14, top: 10, bottom: 28}, CHART_HEIGHT = 240, LABEL_WIDTH = 92, COLOURS = 8;

function shape(name, attributes, content) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const key in attributes) e.setAttribute(key, attributes[key]);
	if (content !== undefined) e.textContent = content;
	return e;
}

/* Multiples of a round number in a range that includes 0. */
function ticks(least, most) {
	const rough = (most - least) / 4, power = 10 ** Math.floor(Math.log10(rough));
	const step = power * ([1, 2, 2.5, 5, 10].find(n => n * power >= rough) ?? 10), list = [];
	for (let i = Math.ceil(least / step); i * step <= most * (1 + 1e-9) && list.length < 9; i++) list.push(i * step);
	return list;
}

/*
 * A chart of `count` items with values from least to most. chart.draw(svg, area, y) draws them in an
 * area {left, top, width, height}; y(value) is where a value is. chart.at(x, area) is the index of the
 * item at a position. chart.show(i, area, svg, y) marks an item, and returns the lines of its tooltip
 * and its position: {lines, x}. The arrow keys move from item to item as the pointer does.
 */
function makeChart(name, count, [least, most], unit, chart) {
	const figure = element("div", "chart"), tip = element("div", "tip"), svg = shape("svg", {"aria-hidden": "true"});
	let area, chosen = -1, drawn = -1;
	figure.tabIndex = 0;
	figure.setAttribute("role", "group");
	figure.setAttribute("aria-label", `${name}, arrow keys show the values`);
	tip.setAttribute("role", "status");
	tip.hidden = true;
	figure.append(svg, tip);

	const y = value => area.top + area.height * (1 - (value - least) / (most - least));
	const axis = () => {
		for (const value of ticks(least, most)) {
			svg.append(shape("line", {class: "grid", x1: area.left, x2: area.left + area.width, y1: y(value), y2: y(value)}));
			svg.append(shape("text", {class: "tick", x: area.left - 8, y: y(value) + 4, "text-anchor": "end"},
				cut(inUnit(unit, value), 11)));
		}
	};
	const select = i => {
		chosen = i;
		svg.querySelectorAll(".cursor").forEach(e => e.remove());
		svg.querySelectorAll(".on").forEach(e => e.classList.remove("on"));
		tip.hidden = i < 0;
		if (i < 0) return;
		const {lines, x} = chart.show(i, area, svg, y);
		tip.replaceChildren(...lines.map((line, n) => element(n ? "div" : "b", "", cut(line, 200))));
		const room = figure.clientWidth - tip.offsetWidth;
		tip.style.left = Math.max(0, Math.min(room, x - tip.offsetWidth / 2)) + "px";
	};
	figure.fit = () => {
		if (figure.clientWidth == drawn) return;
		drawn = figure.clientWidth;
		const width = Math.max(drawn, 220);
		area = {left: MARGIN.left, top: MARGIN.top, width: width - MARGIN.left - MARGIN.right,
			height: CHART_HEIGHT - MARGIN.top - MARGIN.bottom};
		svg.setAttribute("width", width);
		svg.setAttribute("height", CHART_HEIGHT);
		svg.replaceChildren();
		axis();
		chart.draw(svg, area, y);
		select(chosen);
	};
	const keys = {ArrowRight: () => Math.min(chosen + 1, count - 1), ArrowLeft: () => Math.max(chosen - 1, 0),
		Home: () => 0, End: () => count - 1, Escape: () => -1};
	figure.addEventListener("keydown", event => {
		if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		event.stopPropagation();
		select(keys[event.key]());
	});
	figure.addEventListener("pointermove", event => {
		const x = event.clientX - svg.getBoundingClientRect().left;
		const i = x < area.left || x > area.left + area.width ? -1 : chart.at(x, area);
		if (i != chosen) select(i);
	});
	figure.addEventListener("pointerleave", () => select(-1));
	figure.addEventListener("blur", () => select(-1));
	new ResizeObserver(figure.fit).observe(figure);
	return figure;
}

/* A label of the x axis below `x`. */
const tickLabel = (area, x, content, anchor) => shape("text",
	{class: "tick", x, y: area.top + area.height + 18, "text-anchor": anchor ?? "middle"}, cut(content, 16));

/* ---- Histograms: bars of one width; their edges are the labels of the x axis ---- */

function makeHistogram(table) {
	const rows = table.rows, n = rows.length, counts = rows.map(row => raw(row[2]) ?? 0);
	const most = Math.max(counts.reduce((a, b) => Math.max(a, b), 0), 1);
	const sum = counts.reduce((a, b) => a + b, 0) || 1;
	const left = (i, area) => area.left + area.width * i / n;
	return makeChart(table.name, n, [0, most], "count", {
		draw(svg, area, y) {
			const width = area.width / n, step = Math.ceil(LABEL_WIDTH / width);
			counts.forEach((count, i) => {
				const height = count ? Math.max(area.top + area.height - y(count), 1) : 0;
				svg.append(shape("rect", {class: "box", x: left(i, area) + Math.min(1, width / 8), height,
					y: area.top + area.height - height, width: Math.max(width - Math.min(2, width / 4), .5)}));
			});
			for (let i = 0; i + step / 2 < n; i += step)
				svg.append(tickLabel(area, left(i, area), text(rows[i][0])));
			svg.append(tickLabel(area, left(n, area), text(rows[n - 1][1]), "end"));
		},
		at: (x, area) => Math.min(Math.floor((x - area.left) / area.width * n), n - 1),
		show(i, area, svg) {
			svg.querySelectorAll(".box")[i].classList.add("on");
			return {x: left(i + .5, area), lines: [`${text(rows[i][0])} to ${text(rows[i][1])}`,
				`${text(rows[i][2])} (${percent(counts[i] / sum)})`]};
		},
	});
}

/* ---- Time series: a line for each label, a chart for each unit ---- */

function makeLegend(labels) {
	const list = element("ul", "legend");
	for (const {name, colour} of labels) {
		const item = element("li"), swatch = element("i");
		swatch.style.background = `var(--series-${colour})`;
		item.append(swatch, cut(name, 80));
		list.append(item);
	}
	return list;
}

/* Lines through the points; a point between gaps is a dot. */
function pathOf(points) {
	let path = "", last = false;
	for (const [x, y] of points) {
		if (y !== null) path += `${last ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}${last ? "" : "h0"}`;
		last = y !== null;
	}
	return path;
}

function makeLines(name, rows, labels, unit) {
	const times = rows.map(row => raw(row[0])), first = times.reduce((a, b) => Math.min(a, b));
	const span = times.reduce((a, b) => Math.max(a, b)) - first;
	const value = (i, l) => typeof raw(rows[i][l.column]) == "number" ? raw(rows[i][l.column]) : null;
	const range = [0, 0];
	for (const l of labels)
		rows.forEach((_, i) => {
			range[0] = Math.min(range[0], value(i, l) ?? 0);
			range[1] = Math.max(range[1], value(i, l) ?? 0);
		});
	if (range[0] == range[1]) range[1] = 1;
	const left = (i, area) => area.left + area.width * (span ? (times[i] - first) / span : .5);
	const clock = i => text(rows[i][0]).slice(0, span < 5e9 ? 12 : 8);
	return makeChart(name, rows.length, range, unit, {
		draw(svg, area, y) {
			for (let i = 0, end = -Infinity; i < rows.length; i++) {
				const x = left(i, area);
				if (x < end + LABEL_WIDTH || x > area.left + area.width - 24) continue;
				svg.append(tickLabel(area, x, clock(i)));
				end = x;
			}
			for (const l of labels) {
				const points = rows.map((_, i) => [left(i, area), value(i, l) === null ? null : y(value(i, l))]);
				svg.append(shape("path", {class: "line", d: pathOf(points), style: `stroke: var(--series-${l.colour})`}));
			}
		},
		at(x, area) {
			let best = 0;
			for (let i = 1; i < rows.length; i++)
				if (Math.abs(left(i, area) - x) < Math.abs(left(best, area) - x)) best = i;
			return best;
		},
		show(i, area, svg, y) {
			const x = left(i, area);
			svg.append(shape("line", {class: "cursor", x1: x, x2: x, y1: area.top, y2: area.top + area.height}));
			for (const l of labels)
				if (value(i, l) !== null)
					svg.append(shape("circle", {class: "cursor", cx: x, cy: y(value(i, l)), r: 3.5,
						style: `fill: var(--series-${l.colour})`}));
			return {x, lines: [text(rows[i][0]), ...labels.map(l => `${l.name}: ${text(rows[i][l.column] ?? [null, "-"])}`)]};
		},
	});
}

function makeTimeSeries(table) {
	const units = new Map();
	table.columns.forEach((spec, column) => {
		if (!column || !spec.number) return;
		const labels = units.get(spec.unit) ?? [];
		labels.push({name: spec.name, column, colour: labels.length % COLOURS});
		units.set(spec.unit, labels);
	});
	const rows = table.rows.filter(row => typeof raw(row[0]) == "number");
	if (!rows.length) return [];
	return [...units].flatMap(([unit, labels]) => [makeLegend(labels), makeLines(table.name, rows, labels, unit)]);
}

const MATRIX = 12; /* rows and columns with a name of their own */

/* Names in the order of their sums, the largest first, and OTHERS for those after the first ones. */
const OTHERS = "others";
function largest(sums) {
	const order = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a));
	return order.length > MATRIX ? [...order.slice(0, MATRIX - 1), OTHERS] : order;
}

/*
 * Of a table with columns such as comm and culprit_comm: its first sum, with a row for each victim
 * and a column for each culprit.
 */
function makeMatrix(table) {
	const names = table.columns.map(spec => spec.name);
	const down = names.flatMap((name, i) => names.includes("culprit_" + name) ? [i] : []);
	const across = down.map(i => names.indexOf("culprit_" + names[i]));
	const column = table.columns.findIndex(spec => spec.number && spec.unit == "ns");
	if (!down.length || column < 0 || !table.rows.length) return [];

	const name = (row, columns) => columns.map(i => text(row[i])).filter(t => t && t != "-").reverse().join(" ");
	const add = (map, key, value) => map.set(key, (map.get(key) ?? 0) + value);
	const sums = [new Map(), new Map()], cells = new Map();
	for (const row of table.rows) {
		const value = raw(row[column]) ?? 0;
		add(sums[0], name(row, down), value);
		add(sums[1], name(row, across), value);
	}
	const [victims, culprits] = sums.map(largest);
	const known = (list, key) => list.includes(key) ? key : OTHERS;
	for (const row of table.rows)
		add(cells, known(victims, name(row, down)) + "\n" + known(culprits, name(row, across)), raw(row[column]) ?? 0);

	const most = Math.max(...cells.values()), figure = element("div", "scroll"), grid = element("table", "matrix");
	const head = element("tr"), body = element("tbody"), corner = element("th", "", "victim / culprit");
	corner.scope = "col";
	head.append(corner, ...culprits.map(culprit => heading(culprit, "col")));
	for (const victim of victims) {
		const tr = element("tr");
		tr.append(heading(victim, "row"), ...culprits.map(culprit => {
			const value = cells.get(victim + "\n" + culprit), td = element("td", "number", value ? inUnit("ns", value) : "");
			if (value) {
				td.style.setProperty("--heat", Math.round(70 * value / most) + "%");
				td.title = cut(`${victim} waited ${inUnit("ns", value)} while ${culprit} ran`, 500);
			}
			return td;
		}));
		body.append(tr);
	}
	grid.append(element("thead"), body);
	grid.tHead.append(head);
	figure.append(grid);
	return [figure];
}

function heading(name, scope) {
	const th = element("th", "", cut(name, 32));
	th.scope = scope;
	th.title = cut(name, 500);
	return th;
}

function makeCharts(table) {
	if (table.kind == "time-series") return makeTimeSeries(table);
	if (table.kind == "histogram") return table.rows.length ? [makeHistogram(table)] : [];
	return makeMatrix(table);
}
