// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <ranges>
#include <tuple>
#include <variant>
#include <vector>

#include "unit.h"

namespace UNIT
{

template <int N> std::size_t sort_all(std::vector<key<N>> &keys)
{
	std::vector<std::reference_wrapper<key<N>>> copies(keys.begin(), keys.end());

	std::ranges::sort(keys, std::ranges::greater{}, &key<N>::text);
	std::stable_sort(copies.begin(), copies.end(),
		[](const key<N> &a, const key<N> &b) { return a.value < b.value; });
	std::partial_sort(keys.begin(), keys.begin() + keys.size() / 2, keys.end());
	std::nth_element(keys.begin(), keys.begin() + keys.size() / 3, keys.end());
	std::make_heap(keys.begin(), keys.end());
	std::sort_heap(keys.begin(), keys.end());
	return static_cast<std::size_t>(std::ranges::unique(keys).begin() - keys.begin());
}

template <int N> std::size_t look(std::size_t n)
{
	using K = key<N>;
	std::vector<K> keys;
	std::vector<std::variant<int, std::string, K>> mixed;
	std::optional<std::tuple<K, std::size_t>> best;
	std::function<std::size_t(const K &)> weight = [&](const K &k) {
		return k.text.size() * n;
	};

	std::ranges::transform(
		std::views::iota(std::size_t{}, n), std::back_inserter(keys), make_key<N>);
	for (auto &k : keys | std::views::filter([](auto &k) { return k.value % 3 != N % 3; }) |
			       std::views::reverse)
		mixed.emplace_back(k);
	for (auto w : keys | std::views::take_while([&](auto &k) { return k.value >= 0; }) |
			      std::views::transform(weight))
		mixed.emplace_back(static_cast<int>(w));
	for (auto &k : keys)
		if (!best || std::get<1>(*best) < weight(k))
			best.emplace(k, weight(k));
	return std::accumulate(mixed.begin(), mixed.end(), sort_all(keys), [](auto sum, auto &m) {
		return sum + std::visit([](auto &v) { return sizeof(v); }, m);
	}) + (best ? std::get<1>(*best) : 0);
}

std::size_t run(std::size_t n)
{
	return each([&](auto number) { return look<number>(n); });
}

} // namespace UNIT
