/* SPDX-License-Identifier: MIT */
/* Tables, which a click on a column's name sorts. A cell is a text, or a number (or null) and its text. */
const raw = cell => Array.isArray(cell) ? cell[0] : cell;
const text = cell => Array.isArray(cell) ? cell[1] : cell;

/* Numbers before texts; cells without a value are last in both directions. */
function compare(a, b, direction) {
	if (a === null || b === null) return (a === null) - (b === null);
	if (typeof a != typeof b) return typeof a == "number" ? -1 : 1;
	return direction * (a < b ? -1 : a > b ? 1 : 0);
}

function tableCell(table, column, cell) {
	const spec = table.columns[column], td = element("td", spec.number ? "number" : "");
	td.textContent = cut(text(cell), 500);
	if (!spec.number) td.title = cut(text(cell), 2000);
	if (spec.unit != "percent" || typeof raw(cell) != "number") return td;
	td.classList.add("bar");
	td.style.setProperty("--share", Math.max(0, Math.min(100, raw(cell))) + "%");
	return td;
}

function fillRows(table, body, more, limit) {
	body.replaceChildren(...table.rows.slice(0, limit).map(row => {
		const tr = element("tr");
		tr.append(...row.map((cell, column) => tableCell(table, column, cell)));
		return tr;
	}));
	more.hidden = table.rows.length <= limit;
}

/* Numbers are sorted from the largest first, text from A; a second click reverses the order. */
function sortBy(table, column, th) {
	const first = table.columns[column].number ? "descending" : "ascending";
	const other = first == "descending" ? "ascending" : "descending";
	const order = th.getAttribute("aria-sort") == first ? other : first;
	for (const each of th.parentNode.children) each.removeAttribute("aria-sort");
	th.setAttribute("aria-sort", order);
	table.rows.sort((a, b) => compare(raw(a[column]), raw(b[column]), order == "ascending" ? 1 : -1));
}

/* A table and, if it is long, a button to show all of it. */
function makeTable(table) {
	const scroll = element("div", "scroll"), grid = element("table");
	const head = element("tr"), body = element("tbody"), more = element("button", "more");
	let limit = 50;
	table.columns.forEach((spec, column) => {
		const th = element("th", spec.number ? "number" : ""), button = element("button", "", spec.name);
		th.scope = "col";
		button.type = "button";
		button.addEventListener("click", () => {
			sortBy(table, column, th);
			fillRows(table, body, more, limit);
		});
		th.append(button);
		head.append(th);
	});
	more.type = "button";
	more.textContent = `Show all ${grouped(table.rows.length)} rows`;
	more.addEventListener("click", () => fillRows(table, body, more, limit = Infinity));
	fillRows(table, body, more, limit);
	grid.append(element("thead"), body);
	grid.tHead.append(head);
	scroll.append(grid);
	return [scroll, more];
}

/* A section: its name, charts if it has any, and its table. */
function drawSection(table) {
	const section = element("section"), charts = makeCharts(table);
	section.append(element("h2", "", table.name));
	if (table.summary) section.append(element("p", "summary", table.summary));
	section.append(...charts);
	if (charts.length) {
		const details = element("details");
		details.append(element("summary", "", "Table"), ...makeTable({...table, rows: [...table.rows]}));
		section.append(details);
	} else {
		section.append(...makeTable(table));
	}
	$("tables").append(section);
	for (const chart of charts) chart.fit?.();
}
