/* SPDX-License-Identifier: MIT */
/* Resolves addresses to symbols: a function of this program, one of the C library, and data. */
#include <stdio.h>
#include <unistd.h>

#include <attar/attar.h>

static void print(
	struct attar_symbols *symbols, struct attar_address_space *space, const void *address)
{
	attar_location location = attar_address_space_locate(space, (uintptr_t)address);
	struct attar_symbol symbol;

	if (attar_symbols_resolve(symbols, location, &symbol) == 0)
		printf("%s + %llu in %s\n", symbol.name, (unsigned long long)symbol.offset,
			symbol.dso);
	else
		printf("no name, in %s\n", symbol.dso);
}

int main(void)
{
	struct attar_symbols *symbols;
	struct attar_address_space *space;
	int memory = 0;

	if (attar_symbols_new(NULL, &symbols) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	space = attar_address_space_new(symbols, getpid());
	if (!space || attar_address_space_scan(space) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	print(symbols, space, (const void *)(uintptr_t)main);
	print(symbols, space, (const void *)(uintptr_t)getpid);
	print(symbols, space, &memory);
	attar_address_space_free(space);
	attar_symbols_free(symbols);
	return 0;
}
