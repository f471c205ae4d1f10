package report

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Stable is a text without what is another in each message of the same: addresses, whose ports the
// kernel draws and whose names a server of names takes in turns, and times. Two failures with the
// same are one that goes on.
func Stable(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		word = strings.TrimRight(word, ":;,)")
		_, noAddress := netip.ParseAddrPort(word[strings.LastIndex(word, ">")+1:]) // it may be from->to
		if noAddress == nil || isTime(word) {
			words[i] = ""
		}
	}
	return strings.Join(words, " ")
}

// isTime says that a word is a moment, or its day or its time of day.
func isTime(word string) bool {
	return slices.ContainsFunc([]string{time.RFC3339, time.DateOnly, time.TimeOnly}, func(layout string) bool {
		_, err := time.Parse(layout, word)
		return err == nil
	})
}
