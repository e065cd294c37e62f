// SPDX-License-Identifier: MIT
// A program with functions inlined into each other, for debug information of several kinds.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace shapes {
template <typename T> struct Box {
	T side;
	__attribute__((always_inline)) T area() const { return side * side + bias(); }
	__attribute__((always_inline)) T bias() const
	{
		volatile T zero = 0;
		return zero;
	}
};

static inline __attribute__((always_inline)) int twice(int n)
{
	return Box<int>{n}.area() * 2;
}

__attribute__((noinline)) int measure(int n)
{
	int sum = twice(n);
	for (int i = 0; i < n; i++)
		sum += twice(i) + static_cast<int>(Box<double>{0.5 * i}.area());
	return sum;
}
} // namespace shapes

static int sorted(std::vector<std::string> names)
{
	std::map<std::string, int> seen;
	std::sort(names.begin(), names.end(), [](const auto &a, const auto &b) {
		return a.size() < b.size() || (a.size() == b.size() && a < b);
	});
	for (const auto &name : names)
		seen[name] += shapes::measure(static_cast<int>(name.size()));
	return static_cast<int>(seen.size());
}

int main(int argc, char **argv)
{
	std::vector<std::string> names(argv, argv + argc);
	return sorted(names) == argc ? 0 : shapes::measure(argc);
}
