// SPDX-License-Identifier: MIT
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "unit.h"

namespace UNIT
{

template <int N> std::size_t fill(std::size_t n)
{
	using K = key<N>;
	std::map<K, std::vector<K>> tree;
	std::unordered_map<K, std::deque<K>, key_hash> table;
	std::set<std::pair<K, int>> pairs;
	std::list<std::shared_ptr<K>> list;
	std::size_t sum = 0;

	for (std::size_t i = 0; i < n; i++) {
		K k = make_key<N>(i);

		tree[k].push_back(k);
		table[k].push_front(k);
		pairs.emplace(k, static_cast<int>(i));
		list.push_back(std::make_shared<K>(std::move(k)));
	}
	list.sort([](auto &a, auto &b) { return *a < *b; });
	for (auto &[k, keys] : tree)
		sum += keys.size() + table.at(k).size();
	for (auto &[k, i] : pairs)
		sum += k.text.size() + static_cast<std::size_t>(i);
	for (auto &k : list)
		sum += tree.erase(*k) + table.erase(*k);
	return sum;
}

std::size_t run(std::size_t n)
{
	return each([&](auto number) { return fill<number>(n); });
}

} // namespace UNIT
