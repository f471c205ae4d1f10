package rtnl

import "slices"

// sorted is a list as compare orders it, and what is equal as it stood. The numbers of its objects
// are sorted, for which the program has the code: for a type of struct that is 7 kB more.
func sorted[T any](list []T, compare func(a, b T) int) []T {
	numbers := make([]int, len(list))
	for i := range numbers {
		numbers[i] = i
	}
	slices.SortStableFunc(numbers, func(i, j int) int { return compare(list[i], list[j]) })
	out := slices.Clone(list)
	for i, number := range numbers {
		out[i] = list[number]
	}
	return out
}
