// SPDX-License-Identifier: MIT
#include <iomanip>
#include <iterator>
#include <memory>
#include <regex>
#include <sstream>
#include <vector>

#include "unit.h"

namespace UNIT
{

template <int N> struct traits : std::regex_traits<char> {
};

/* An allocator that differs from std::allocator in its type only. */
template <typename T, int N> struct memory : std::allocator<T> {
	template <typename U> struct rebind {
		using other = memory<U, N>;
	};

	memory() = default;
	template <typename U> memory(const memory<U, N> &)
	{
	}
};

template <int N> std::size_t match(std::size_t n)
{
	using text = std::basic_string<char, std::char_traits<char>, memory<char, N>>;
	using iterator = typename text::const_iterator;
	std::basic_regex<char, traits<N>> words("(\\w+)[ ,]*((?:[0-9]|[a-f]){2,})?");
	std::basic_ostringstream<char, std::char_traits<char>, memory<char, N>> out;
	std::size_t sum = 0;

	for (std::size_t i = 0; i < n; i++)
		out << std::setw(N) << std::hex << i << ", " << make_key<N>(i).text << ' ';
	text line = out.str();
	std::regex_iterator<iterator, char, traits<N>> at(line.begin(), line.end(), words), end;
	for (; at != end; ++at)
		sum += static_cast<std::size_t>(at->length(1)) + at->size();
	std::match_results<iterator> found;
	sum += std::regex_search(line, found, words);
	return sum + std::regex_replace(line, words, "$2-$1").size();
}

std::size_t run(std::size_t n)
{
	return each([&](auto number) { return match<number>(n); });
}

} // namespace UNIT
