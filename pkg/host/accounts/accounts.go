// Package accounts resolves the owners of files by the users and groups of a root, not by the name
// services of the process.
package accounts

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// Accounts are the users and groups of a root. They are read at the first use, and again if a name
// is missing, because a package may have added it. The zero value is empty. It is safe for several
// goroutines.
type Accounts struct {
	mu     sync.Mutex
	users  map[string]account
	groups map[string]int
}

type account struct{ uid, gid int }

// Resolve resolves "user:group" (names or numbers). "" is root:root; without ":group" it returns
// the user's own group. A number of up to 32 bits is used as it is. read reads a file of the root.
func (a *Accounts) Resolve(owner string, read func(file string) ([]byte, error)) (uid, gid int, err error) {
	if owner == "" || owner == "root:root" {
		return 0, 0, nil
	}
	user, group, hasGroup := strings.Cut(owner, ":")
	if user == "" || hasGroup && group == "" {
		return 0, 0, fmt.Errorf("owner %q: write it as user:group", owner)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	uid, gid, err = a.resolve(user, group)
	if err == nil {
		return uid, gid, nil
	}
	if err := a.load(read); err != nil {
		return 0, 0,
			fmt.Errorf("resolve owner %q: %w: write numbers (uid:gid), which need no list of users", owner, err)
	}
	if uid, gid, err = a.resolve(user, group); err != nil {
		return 0, 0, fmt.Errorf("resolve owner %q: %w", owner, err)
	}
	return uid, gid, nil
}

func (a *Accounts) resolve(user, group string) (uid, gid int, err error) {
	uid, numeric := number(user)
	who, known := a.users[user]
	switch {
	case known:
		uid = who.uid
	case !numeric:
		return 0, 0,
			fmt.Errorf("no user %q in /etc/passwd: create it (useradd --system %s) or write its number", user, user)
	}
	if group == "" {
		if !known {
			return 0, 0, fmt.Errorf("no group for user %s: write it as user:group", user)
		}
		return uid, who.gid, nil
	}
	if gid, ok := a.groups[group]; ok {
		return uid, gid, nil
	}
	if gid, ok := number(group); ok {
		return uid, gid, nil
	}
	return 0, 0,
		fmt.Errorf("no group %q in /etc/group: create it (groupadd --system %s) or write its number", group, group)
}

// load reads passwd(5) and group(5). The first entry of a name counts, as in the C library.
func (a *Accounts) load(read func(file string) ([]byte, error)) error {
	a.users, a.groups = map[string]account{}, map[string]int{}
	if err := eachEntry(read, "/etc/passwd", 4, func(e []string) {
		uid, ok1 := number(e[2])
		gid, ok2 := number(e[3])
		if _, twice := a.users[e[0]]; ok1 && ok2 && !twice {
			a.users[e[0]] = account{uid, gid}
		}
	}); err != nil {
		return err
	}
	return eachEntry(read, "/etc/group", 3, func(e []string) {
		gid, ok := number(e[2])
		if _, twice := a.groups[e[0]]; ok && !twice {
			a.groups[e[0]] = gid
		}
	})
}

// Name returns the name of a user in passwd(5); "" if it is not known.
func Name(uid int, read func(file string) ([]byte, error)) (name string) {
	_ = eachEntry(read, "/etc/passwd", 3, func(e []string) { // without the file the name is unknown
		if n, ok := number(e[2]); ok && n == uid {
			name = cmp.Or(name, e[0])
		}
	})
	return name
}

func eachEntry(read func(file string) ([]byte, error), name string, fields int, do func([]string)) error {
	text, err := read(name)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if e := strings.Split(strings.TrimSpace(line), ":"); len(e) >= fields && e[0] != "" {
			do(e)
		}
	}
	return nil
}

// number parses a uid or gid. 4294967295 is refused, because chown interprets it as "do not
// change".
func number(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int(n), err == nil && n < math.MaxUint32
}
