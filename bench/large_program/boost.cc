// SPDX-License-Identifier: MIT
#include <boost/container/flat_map.hpp>
#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <boost/multi_index_container.hpp>
#include <boost/multiprecision/cpp_int.hpp>

#include "unit.h"

namespace UNIT
{

namespace mi = boost::multi_index;

template <int N> std::size_t index(std::size_t n)
{
	using K = key<N>;
	mi::multi_index_container<K,
		mi::indexed_by<mi::sequenced<>,
			mi::ordered_non_unique<mi::member<K, int, &K::value>>,
			mi::hashed_unique<mi::member<K, std::string, &K::text>>>>
		keys;
	boost::container::flat_map<std::string, K> sorted;
	std::size_t sum = 0;

	for (std::size_t i = 0; i < n; i++) {
		keys.push_back(make_key<N>(i));
		sorted.emplace(std::to_string(i), make_key<N>(i));
	}
	for (auto &k : keys.template get<1>())
		sum += keys.template get<2>().count(k.text) + sorted.count(k.text);
	keys.template get<1>().erase(0);
	return sum + keys.size();
}

template <int N> std::size_t compute(std::size_t n)
{
	namespace mp = boost::multiprecision;
	using number = mp::number<mp::cpp_int_backend<128 + 64 * N, 128 + 64 * N,
		mp::unsigned_magnitude, mp::unchecked, void>>;
	number product = 1;

	for (std::size_t i = 1; i < n; i++)
		product = product * (i + N) % (number(1) << 90) + product / i;
	return product.str().size();
}

std::size_t run(std::size_t n)
{
	return each([&](auto number) { return index<number>(n) + compute<number>(n); });
}

} // namespace UNIT
