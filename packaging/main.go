// Command packaging makes a release of programs that are built: a .deb and an .rpm of each, the
// sums of all, and signatures where keys are given. The same programs, version and time make the
// same bytes, but for signatures of GPG, which know when they were made. It is a module of its own,
// so that the agent does not carry what it needs; `make release` runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What may hold the password of minisign's key, and of GPG's.
const (
	passwordVariable    = "NETWRIGHT_KEY_PASSWORD"
	gpgPasswordVariable = "NETWRIGHT_GPG_PASSWORD"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	r := release{programs: map[string]string{}}
	var built int64
	var out, key string
	var show bool
	f := flag.NewFlagSet("packaging", flag.ContinueOnError)
	f.StringVar(&r.described, "version", "", "what `git describe` says of the commit")
	f.Int64Var(&built, "time", 0, "when the commit was made, in `seconds` of Unix: the time of every file")
	f.StringVar(&r.root, "root", "..", "the repository: units and licence are taken from there")
	f.StringVar(&r.manual, "manual", "", "directory that `agent manual` wrote: what goes below /usr/share")
	f.StringVar(&out, "out", "", "directory of the release; files that are there get a sum too")
	f.StringVar(&key, "key", "", "private key of minisign that signs the sums; its password is read from "+passwordVariable)
	f.StringVar(&r.gpgKey, "gpg-key", "", "secret key of GPG, as it exports one, that signs the packages themselves; its password is read from "+gpgPasswordVariable)
	f.BoolVar(&show, "show-version", false, "print the version that packages get, and make none")
	f.Func("program", "`ARCH=FILE`: the agent for an architecture; may be repeated", func(s string) error {
		arch, file, ok := strings.Cut(s, "=")
		if !ok || rpmArch[arch] == "" {
			return errors.New("expected amd64=FILE or arm64=FILE")
		}
		r.programs[arch] = file
		return nil
	})
	if err := f.Parse(args); err != nil {
		return err
	}
	r.built = time.Unix(built, 0).UTC()
	var err error
	if r.version, err = packageVersion(r.described, r.built); err != nil {
		return err
	}
	if show {
		fmt.Println(r.version)
		return nil
	}
	if built == 0 || out == "" || r.manual == "" || len(r.programs) == 0 {
		return errors.New("-time, -out, -manual and at least one -program are needed: `make release` gives them")
	}
	if err := r.packages(out); err != nil {
		return err
	}
	sums, err := writeSums(out)
	if err != nil {
		return err
	}
	if key == "" {
		fmt.Println("unsigned: no key was given (make release KEY=FILE): who has only " + filepath.Join(out, sumsFile) + " knows that files are whole, not whose they are")
		return nil
	}
	return sign(out, sums, key, r.described)
}
