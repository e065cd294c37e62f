/* SPDX-License-Identifier: MIT */
/*
 * symbol.h - addresses of processes and files to names: the interface of libsym.
 *
 * The resolver is one object of the process, and its functions may be called by several threads.
 * Each returned list or symbol is owned by the caller; strings in it are valid until it is freed.
 */
#ifndef SYMBOL_H
#define SYMBOL_H

#include <linux/types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct Symbol {
	unsigned long addr;           /* address in the process */
	char *module;                 /* path of the binary, "[kernel]" */
	char *symbolName;             /* demangled; "UNKNOWN" without a name */
	char *mangleName;             /* as in the symbol table */
	char *fileName;               /* source file; "Unknown", "[kernel]" */
	unsigned int lineNum;         /* line in it; 0: unknown */
	unsigned long offset;         /* bytes from the start of the function */
	unsigned long codeMapEndAddr; /* end of the function, as an address in its file */
	unsigned long codeMapAddr;    /* addr, as an address in its file */
	unsigned int firstLine;       /* at which the function begins; 0: unknown, or inlined */
	char *mntPoint;               /* mount point; NULL */
};

/* A call stack, innermost function first. */
struct Stack {
	struct Symbol *symbol;
	struct Stack *next; /* the caller, or where it is inlined; NULL: the outermost function */
	struct Stack *prev;
} __attribute__((aligned(64)));

/* Disassembled code, see SymResolverAsmCode(). */
struct StackAsm {
	char *funcName;
	unsigned long funcStartAddr;
	unsigned long functFileOffset;
	struct StackAsm *next;
	struct AsmCode *asmCode;
};

struct AsmCode {
	unsigned long addr;
	char *code;
	char *fileName;
	unsigned int lineNum;
};

/* Starts the resolver; every other function does it too. */
void SymResolverInit(void);

/* Frees the resolver. Symbols that it returned stay valid until they are freed. */
void SymResolverDestroy(void);

/*
 * These return SUCCESS or an error code, see Perror(). PID 0 is the calling process. Nothing is
 * read before an address is resolved: they make the mappings of a process known, also for the time
 * after it has ended. After a function without NoDwarf in its name, symbols of the process have
 * source lines.
 */
int SymResolverRecordKernel(void);
int SymResolverRecordModule(int pid);
int SymResolverRecordModuleNoDwarf(int pid);

/* Read the mappings of a process again, after it has loaded libraries. */
int SymResolverIncrUpdateModule(int pid);
int SymResolverIncrUpdateModuleNoDwarf(int pid);

/*
 * Add one mapping: all executable segments of the file, loaded at startAddr. The mappings of a
 * process that is not recorded are read first.
 */
int SymResolverUpdateModule(int pid, const char *moduleName, unsigned long startAddr);
int SymResolverUpdateModuleNoDwarf(int pid, const char *moduleName, unsigned long startAddr);

/* Check that a file has symbols, or source lines. */
int SymResolverRecordElf(const char *fileName);
int SymResolverRecordDwarf(const char *fileName);

/*
 * The stack of nr addresses in process pid, innermost first; with source lines it also has the
 * functions that are inlined there. Functions of a process that is not recorded are "UNKNOWN".
 * Valid until FreeModuleData(pid) or SymResolverDestroy(). NULL: see Perror().
 */
struct Stack *StackToHash(int pid, unsigned long *stack, int nr);

/*
 * The function that has the code at an address of a process. Free it with FreeSymbolPtr(). NULL:
 * see Perror().
 */
struct Symbol *SymResolverMapAddr(int pid, unsigned long addr);

/*
 * The symbol at an address in a file; it is "UNKNOWN" if the file has no code there. Free it with
 * FreeSymbolPtr(). NULL: see Perror().
 */
struct Symbol *SymResolverMapCodeAddr(const char *moduleName, unsigned long startAddr);

/* The machine code of a range of a file, disassembled by objdump(1). Free: FreeAsmStack(). */
struct StackAsm *SymResolverAsmCode(
	const char *moduleName, unsigned long startAddr, unsigned long endAddr);

/*
 * The same as text, a line "address:\tinstruction" for each instruction, to be freed with free(3).
 * SUCCESS or an error code.
 */
int GetAsmCodeByAddr(
	const char *moduleName, unsigned long startAddr, unsigned long endAddr, char **asmCode);

void FreeSymbolPtr(struct Symbol *symbol);
void FreeModuleData(int pid);
void FreeAsmStack(struct StackAsm *stackAsm);

/* The build ID of a file in hexadecimal, to be freed with free(3). SUCCESS or an error code. */
int SymGetBuildId(const char *moduleName, char **buildId);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
