/* SPDX-License-Identifier: MIT */
/*
 * Shared by the sources of a large C++ program. UNIT is the namespace of a unit, such as unit_0007:
 * the templates are instantiated for its types, so that the linker keeps the code of each unit.
 */
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#ifndef COUNT
#define COUNT 3 /* sets of types that each template is instantiated for */
#endif

namespace UNIT
{

template <int N> struct key {
	int value = N;
	std::string text = std::to_string(N);

	auto operator<=>(const key &) const = default;
};

template <int N> key<N> make_key(std::size_t i)
{
	return {static_cast<int>(i * N), std::to_string(i)};
}

struct key_hash {
	template <int N> std::size_t operator()(const key<N> &k) const
	{
		return std::hash<std::string>()(k.text) * 31 + static_cast<std::size_t>(k.value);
	}
};

/* Calls f with each of the numbers 0 to COUNT - 1 as a type. */
template <typename F> std::size_t each(F f)
{
	return [&]<int... N>(std::integer_sequence<int, N...>)
	{
		return (f(std::integral_constant<int, N + 1>()) + ...);
	}
	(std::make_integer_sequence<int, COUNT>());
}

std::size_t run(std::size_t n);

} // namespace UNIT
