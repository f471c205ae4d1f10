package hostfs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Owner implements [Files]. The root's own /etc/passwd and /etc/group are
// read, not the name services of the process: an image has other users than the
// host that it is mounted on. "" is root:root; without ":group" it is the
// user's own group. A number of up to 32 bits stands for itself.
func (f *Reader) Owner(owner string) (uid, gid int, err error) {
	if owner == "" || owner == "root:root" {
		return 0, 0, nil
	}
	user, group, hasGroup := strings.Cut(owner, ":")
	if user == "" || hasGroup && group == "" {
		return 0, 0, fmt.Errorf("owner %q: write it as user:group", owner)
	}
	f.owners.mu.Lock()
	defer f.owners.mu.Unlock()
	uid, gid, err = f.owners.resolve(user, group)
	if err == nil {
		return uid, gid, nil
	}
	if err := f.owners.load(f); err != nil {
		return 0, 0,
			fmt.Errorf("resolve owner %q: %w: write numbers (uid:gid), which need no list of users", owner, err)
	}
	if uid, gid, err = f.owners.resolve(user, group); err != nil {
		return 0, 0, fmt.Errorf("resolve owner %q: %w", owner, err)
	}
	return uid, gid, nil
}

func (o *owners) resolve(user, group string) (uid, gid int, err error) {
	uid, numeric := number(user)
	who, known := o.users[user]
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
	if gid, ok := o.groups[group]; ok {
		return uid, gid, nil
	}
	if gid, ok := number(group); ok {
		return uid, gid, nil
	}
	return 0, 0,
		fmt.Errorf("no group %q in /etc/group: create it (groupadd --system %s) or write its number", group, group)
}

// load reads passwd(5) and group(5). The first entry of a name counts, as it
// does for the C library.
func (o *owners) load(f *Reader) error {
	o.users, o.groups = map[string]account{}, map[string]int{}
	if err := eachEntry(f, "/etc/passwd", 4, func(e []string) {
		uid, ok1 := number(e[2])
		gid, ok2 := number(e[3])
		if _, twice := o.users[e[0]]; ok1 && ok2 && !twice {
			o.users[e[0]] = account{uid, gid}
		}
	}); err != nil {
		return err
	}
	return eachEntry(f, "/etc/group", 3, func(e []string) {
		gid, ok := number(e[2])
		if _, twice := o.groups[e[0]]; ok && !twice {
			o.groups[e[0]] = gid
		}
	})
}

func eachEntry(f *Reader, name string, fields int, do func([]string)) error {
	text, err := f.ReadFile(name)
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

// number reads a uid or gid. 4294967295 means "leave it" to chown and is none.
func number(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int(n), err == nil && n < math.MaxUint32
}
