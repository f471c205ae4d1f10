package document

import (
	"fmt"
	"strings"
)

// Nearest is the candidate most like word, or "" when none is like it: about a third of the letters
// may differ, never all.
func Nearest(word string, candidates []string) string {
	best, least := "", min(len(word)/3+2, len(word))
	for _, c := range candidates {
		if d := Distance(word, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// DidYouMean asks for the [Nearest] candidate; "" when none is like word.
func DidYouMean(word string, candidates []string) string {
	near := Nearest(word, candidates)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", near)
}

// Distance counts the letters to insert, delete, replace or swap with their neighbour to get from a
// to b; case does not count.
func Distance(a, b string) int {
	const far = 1 << 10
	if len(a) > 64 || len(b) > 64 {
		return far
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	var before, row, next [66]int
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// Clip keeps a quoted text short.
func Clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
