# SPDX-License-Identifier: MIT
"""The examples in the README of openEuler's libkperf, word for word: users begin with them."""

# "..." stands for the reader's own code, and pid for a process.
C = r'''
int pidList[1];
pidList[0] = pid;
char *evtList[1];
evtList[0] = "cycles";
// Initialize event list and pid list in PmuAttr.
// There is one event in list, named 'cycles'.
PmuAttr attr = {0};
attr.evtList = evtList;
attr.numEvt = 1;
attr.pidList = pidList;
attr.numPid = 1;
// Call PmuOpen and pmu descriptor <pd> is return.
// <pd> is an identity for current task.
int pd = PmuOpen(COUNTING, &attr);
// Start collection.
PmuEnable(pd);
// Collect for one second.
sleep(1);
// Stop collection.
PmuDisable(pd);
PmuData *data = NULL;
// Read pmu data. You can also read data before PmuDisable.
int len = PmuRead(pd, &data);
for (int i = 0; i < len; ++i) {
	...
}
// To free PmuData, call PmuDataFree.
PmuDataFree(data);
// Like fd, call PmuClose if pd will not be used.
PmuClose(pd);
'''

PYTHON = r'''
import time
from collections import defaultdict

import kperf

def Counting():
    evtList = ["r11", "cycles"]
    pmu_attr = kperf.PmuAttr(evtList=evtList)
    pd = kperf.open(kperf.PmuTaskType.COUNTING, pmu_attr)
    if pd == -1:
        print(kperf.errorno())
        print(kperf.error())

    kperf.enable(pd)

    for _ in range(3):
        time.sleep(1)
        data_iter = kperf.read(pd)
        evtMap = defaultdict(int)
        for data in data_iter:
            evtMap[data.evt] += data.count

        for evt, count in evtMap.items():
            print(f"event: {evt} count: {count}")

    kperf.disable(pd)
    kperf.close(pd)


def PerfList():
    event_iter = kperf.event_list(kperf.PmuEventType.CORE_EVENT)
    for event in event_iter:
        print(f"event: {event}")


if __name__ == '__main__':
    Counting()
    PerfList()
'''


def c_program():
    """The example in C as a program, which prints its rows; its argument is the process."""
    body = C.replace('...', 'printf("%s %d %llu\\n", data[i].evt, (int)data[i].pid, '
                            '(unsigned long long)data[i].count);')
    return ('#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include "pmu.h"\n'
            '#include "pcerrc.h"\n\nint main(int argc, char **argv)\n{\nint pid = atoi(argv[1]);\n'
            f'if (argc != 2)\n\treturn 2;\n{body}printf("%d\\n", len);\nreturn 0;\n}}\n')
