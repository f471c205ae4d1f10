package report

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Stable returns a text without the parts that differ between messages about the same failure:
// addresses, because ports are random and name servers rotate addresses, and times. Two failures
// with the same result are one failure that continues.
func Stable(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		word = strings.TrimRight(word, ":;,)")
		_, noAddress := netip.ParseAddrPort(word[strings.LastIndex(word, ">")+1:]) // a word may be from->to
		if noAddress == nil || isTime(word) {
			words[i] = ""
		}
	}
	return strings.Join(words, " ")
}

// isTime reports whether a word is a time, a date or a time of day.
func isTime(word string) bool {
	return slices.ContainsFunc([]string{time.RFC3339, time.DateOnly, time.TimeOnly}, func(layout string) bool {
		_, err := time.Parse(layout, word)
		return err == nil
	})
}
