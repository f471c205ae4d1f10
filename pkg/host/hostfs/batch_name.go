package hostfs

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
)

// A staged file is named ".netwright-TOKEN-NUMBER". Nobody picks that up: libcni, modules-load.d,
// sysctl.d, systemd, udev and kubelet's manifests go by the extension, and it has none. (A leading
// dot alone does not help: libcni takes ".x.conf".)
const stagedPrefix = ".netwright-"

// processToken tells the staged files of this process from those of others.
var processToken = rand.Text()[:tokenLength]

const (
	tokenLength  = 10
	numberLength = 8
)

var stagedCount atomic.Uint32

func stagedName() string {
	return fmt.Sprintf("%s%s-%0*x", stagedPrefix, processToken, numberLength, stagedCount.Add(1))
}

// stagedBy says which process staged a file of this name, if it is exactly such a name.
func stagedBy(name string) (token string, ok bool) {
	rest, ok := strings.CutPrefix(name, stagedPrefix)
	token, number, dash := strings.Cut(rest, "-")
	ok = ok && dash && len(token) == tokenLength && len(number) == numberLength &&
		strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == "" && strings.Trim(number, "0123456789abcdef") == ""
	return token, ok
}

// StagedHere says that this process may have staged a file of that name, and nobody else.
func StagedHere(name string) bool {
	token, ok := stagedBy(name)
	return ok && token == processToken
}
