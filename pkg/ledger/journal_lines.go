package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/netwright/netwright/pkg/graph"
)

// The journal has lines of the form "CRC LETTER JSON": the crc32c of the rest of the line in eight
// hex digits, the kind of the line, and its value. A batch is several lines of which the last one
// is a head. Lines without a following head were never committed. Writers only append to the
// journal, or replace the whole of it.
const (
	linePut  = 'p' // an Entry
	lineDrop = 'x' // key that is no longer in the ledger
	lineDir  = 'd' // a dirTime
	lineHead = 'h' // a Head, the end of a batch
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// errDamaged is the error for a journal that was changed after it was written. A journal that is
// only cut short is not damaged.
var errDamaged = errors.New("the journal is damaged")

// line is one line of the journal with a valid checksum. Its value is not decoded yet.
type line struct {
	kind  byte
	value []byte
}

func appendLine(b []byte, kind byte, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return b, fmt.Errorf("encode a line of the ledger: %w", err)
	}
	sum := len(b)
	b = append(append(b, "01234567 "...), kind, ' ')
	b = append(b, text...)
	copy(b[sum:], fmt.Appendf(nil, "%08x", crc32.Checksum(b[sum+len("01234567 "):], crcTable)))
	return append(b, '\n'), nil
}

// readLines checks the journal and returns the lines of its committed batches. torn reports whether
// an uncommitted batch at the end was cut off. Then the next write must replace the file. Damage
// before a committed batch is [errDamaged].
func readLines(data []byte) (lines []line, torn bool, err error) {
	lines = make([]line, 0, bytes.Count(data, []byte("\n")))
	committed, bad := 0, false
	for rest := data; len(rest) > 0; {
		text, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		l, ok := checkLine(text)
		if !whole || !ok {
			bad = true
			continue
		}
		if bad {
			return nil, false, errDamaged // a crash cuts the end off and leaves no valid line behind it
		}
		lines = append(lines, l)
		if l.kind == lineHead {
			committed = len(lines)
		}
	}
	if committed == 0 && len(data) > 0 {
		return nil, false, errDamaged // the first batch is written by a rename, so it is never cut off
	}
	return lines[:committed], bad || committed < len(lines), nil
}

func checkLine(text []byte) (line, bool) {
	if len(text) < 12 || text[8] != ' ' || text[10] != ' ' {
		return line{}, false
	}
	var sum [4]byte
	var want [8]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(text[9:], crcTable))
	if hex.Encode(want[:], sum[:]); string(text[:8]) != string(want[:]) {
		return line{}, false
	}
	return line{kind: text[9], value: text[11:]}, true
}

// dirTime is the mtime of a directory before the agent created a file in it.
type dirTime struct {
	Path  string `json:"path"`
	Mtime int64  `json:"mtime"`
}

// replay decodes the lines and returns the resulting entries and directory times.
func replay(lines []line) (entries map[graph.Key]Entry, dirs map[string]int64, err error) {
	entries, dirs = map[graph.Key]Entry{}, map[string]int64{}
	for _, l := range lines {
		switch l.kind {
		case linePut:
			var e Entry
			if err = json.Unmarshal(l.value, &e); err == nil {
				entries[e.Key] = e
			}
		case lineDrop:
			var key graph.Key
			if err = json.Unmarshal(l.value, &key); err == nil {
				delete(entries, key)
			}
		case lineDir:
			var d dirTime
			if err = json.Unmarshal(l.value, &d); err == nil {
				dirs[d.Path] = d.Mtime
			}
		case lineHead:
		default:
			err = fmt.Errorf("%w: a line of kind %q", errDamaged, l.kind)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return entries, dirs, nil
}
