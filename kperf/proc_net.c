/* SPDX-License-Identifier: MIT */
/* Files of the network. */
#include <string.h>

#include "proc.h"

void proc_net_dev_line(struct proc_parser *p, char *line)
{
	char *colon = strchr(line, ':');
	struct ProcNetDevEntry *e = colon ? proc_add_entry(p) : NULL;

	if (!e)
		return;
	*colon = '\0';
	e->iface = proc_trimmed(p, line);
	sscanf(colon + 1,
		"%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu",
		&e->rxBytes, &e->rxPackets, &e->rxErrs, &e->rxDrop, &e->rxFifo, &e->rxFrame,
		&e->rxCompressed, &e->rxMulticast, &e->txBytes, &e->txPackets, &e->txErrs,
		&e->txDrop, &e->txFifo, &e->txColls, &e->txCarrier, &e->txCompressed);
}

/* "TCP: inuse 5 orphan 0": pairs of keys and values. */
void proc_sockstat_line(struct proc_parser *p, char *line)
{
	char *colon = strchr(line, ':'), *save = NULL;
	struct ProcNetSockstatEntry *e = colon ? proc_add_entry(p) : NULL;

	if (!e)
		return;
	*colon = '\0';
	e->protocol = proc_text(p, line);
	for (char *key = strtok_r(colon + 1, " ", &save), *value;
		key && (value = strtok_r(NULL, " ", &save)); key = strtok_r(NULL, " ", &save))
		proc_add_field(p, &e->fields, &e->numFields, key, strlen(key), value);
}

/* Two lines each: the names, then the values. */
void proc_netstat_line(struct proc_parser *p, char *line)
{
	char *colon = strchr(line, ':'), *save = NULL;
	struct ProcNetNetstatEntry *e = proc_last_entry(p);
	unsigned i = 0;

	if (!colon)
		return;
	*colon = '\0';
	if (!e || strcmp(e->category, line) != 0) {
		e = proc_add_entry(p);
		if (e)
			e->category = proc_text(p, line);
		for (char *key = strtok_r(colon + 1, " ", &save); e && key;
			key = strtok_r(NULL, " ", &save))
			proc_add_field(p, &e->fields, &e->numFields, key, strlen(key), "");
		return;
	}
	for (char *value = strtok_r(colon + 1, " ", &save); value && i < e->numFields;
		value = strtok_r(NULL, " ", &save))
		e->fields[i++].value = proc_text(p, value);
}

void proc_arp_line(struct proc_parser *p, char *line)
{
	struct ProcNetArpEntry *e;

	if (strncmp(line, "IP address", 10) == 0 || !(e = proc_add_entry(p)))
		return;
	proc_words(p, line,
		(char **[]){
			&e->ipAddress, &e->hwType, &e->flags, &e->hwAddress, &e->mask, &e->device},
		6);
}
