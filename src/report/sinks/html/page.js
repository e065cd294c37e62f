/* SPDX-License-Identifier: MIT */
/* What all parts of the page use: the data, elements, and numbers as text. */
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);

function element(name, className, text) {
	const e = document.createElement(name);
	if (className) e.className = className;
	if (text !== undefined) e.textContent = text;
	return e;
}

/* ---- Numbers ---- */

const grouped = value => Math.round(value).toLocaleString("en-US");
const trimmed = value => value.toLocaleString("en-US", {maximumFractionDigits: 2});
const percent = share => (share * 100).toFixed(2) + "%";

function scaled(value, factor, steps) {
	let i = 0;
	for (; i < steps.length - 1 && value >= factor - 0.5; i++) value /= factor;
	const places = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	return value.toLocaleString("en-US", {minimumFractionDigits: places, maximumFractionDigits: places}) +
		" " + steps[i];
}

/* A number as text, like number_cell() in number.c. */
function inUnit(unit, value) {
	switch (unit) {
	case "ns": return scaled(value, 1000, ["ns", "us", "ms", "s"]);
	case "bytes": return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]);
	case "hz": return scaled(value, 1000, ["Hz", "kHz", "MHz", "GHz"]);
	case "percent": return trimmed(value) + "%";
	default: return trimmed(value);
	}
}

const cut = (text, room) => text.length > room ? text.slice(0, room - 1) + "…" : text;
