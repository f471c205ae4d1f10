// Command limit does the node job with the least work that a Go program needs: no documents, no
// plan, no report, no lock, no ledger. Its times are the lower limit for those of the agent. It
// also checks whether a run has converged.
//
//	limit check [-verify] MANIFEST       exit 0 if the node matches the manifest; differences go to stderr
//	limit apply MANIFEST URL SHA256 DIR  apply it on an empty node, durably; no member is visible before the archive's hash is verified
//	limit apply MANIFEST URL SHA256 DIR PROGRAM  the same, and systemd could undo it with a copy of PROGRAM
//	limit nothing                        start and end
package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// entry is one line of a manifest and the bytes after it:
//
//	file    MODE SIZE PATH   content, wanted byte for byte
//	member  MODE SIZE PATH   64 hex digits: the sha256 of an archive's member
//	sysctl  0    SIZE KEY    value
//	unit    0    0    NAME   enabled and active
type entry struct {
	kind string
	mode uint32
	size int64
	path string
	body []byte
}

func parse(data []byte) ([]entry, error) {
	var entries []entry
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return nil, fmt.Errorf("the manifest ends within a line")
		}
		f := strings.SplitN(string(data[:end]), " ", 4)
		if len(f) != 4 {
			return nil, fmt.Errorf("no manifest line: %q", data[:end])
		}
		mode, err := strconv.ParseUint(f[1], 8, 32)
		if err != nil {
			return nil, fmt.Errorf("reading a mode: %w", err)
		}
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("reading a size: %w", err)
		}
		e := entry{kind: f[0], mode: uint32(mode), size: size, path: f[3]}
		data = data[end+1:]
		body := size
		if e.kind == "member" {
			body = 64
		}
		if int64(len(data)) < body {
			return nil, fmt.Errorf("the manifest ends within %s", e.path)
		}
		e.body, data = data[:body], data[body:]
		entries = append(entries, e)
	}
	return entries, nil
}

func load(path string) ([]entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	return parse(data)
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "nothing":
		return nil
	case len(args) == 2 && args[0] == "check":
		return check(args[1], false)
	case len(args) == 3 && args[0] == "check" && args[1] == "-verify":
		return check(args[2], true)
	case len(args) == 5 && args[0] == "apply":
		return apply(args[1], args[2], args[3], args[4])
	case len(args) == 6 && args[0] == "apply":
		return applyUndoable(args[1], args[2], args[3], args[4], args[5])
	}
	return fmt.Errorf("usage: limit check [-verify] MANIFEST | apply MANIFEST URL SHA256 DIR [PROGRAM] | nothing")
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "limit:", err)
		os.Exit(1)
	}
}
