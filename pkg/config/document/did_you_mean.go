package document

import (
	"fmt"
	"strings"
)

// Nearest returns the candidate that is most similar to word, or "" if none is similar. About a
// third of the letters may differ, but never all.
func Nearest(word string, candidates []string) string {
	best, least := "", min(len(word)/3+2, len(word))
	for _, c := range candidates {
		if d := Distance(word, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// DidYouMean returns a question with the [Nearest] candidate, or "" if no candidate is similar.
func DidYouMean(word string, candidates []string) string {
	near := Nearest(word, candidates)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", near)
}

// Distance returns how many letters must be inserted, deleted, replaced or swapped with their
// neighbour to get from a to b. It ignores case.
func Distance(a, b string) int {
	const far, longest = 1 << 10, 128
	if len(a) > longest || len(b) > longest {
		return far
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	var before, row, next [longest + 2]int
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

// Clip shortens a quoted text.
func Clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
