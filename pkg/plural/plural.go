// Package plural writes numbers of things in messages.
package plural

import "strconv"

// Of returns "1 key", or "2 keys". The plural of one is many, or one with an s.
func Of[N int | int64 | uint64](n N, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return strconv.FormatInt(int64(n), 10) + " " + many[0]
	}
	return strconv.FormatInt(int64(n), 10) + " " + one + "s"
}
