/* SPDX-License-Identifier: CC0-1.0 */
/* A plug-in with its own event. */
#include "perfume.h"

PERFUME_EVENT(plugin_called, (u32, times), (str, who))

PERFUME_API int plugin_call(uint32_t times);
PERFUME_API struct perfume_event *plugin_event(void);

int plugin_call(uint32_t times)
{
	return perfume_plugin_called(times, "plugin");
}

struct perfume_event *plugin_event(void)
{
	return &perfume_event_plugin_called;
}
