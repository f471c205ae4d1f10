package report

import (
	"net/netip"
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
		_, noTime := time.Parse(time.RFC3339, word)
		if noAddress == nil || noTime == nil {
			words[i] = ""
		}
	}
	return strings.Join(words, " ")
}
