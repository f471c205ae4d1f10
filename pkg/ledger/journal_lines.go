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

// The journal is lines, each "CRC LETTER JSON": the crc32c of all behind it in
// eight hex digits, what the line is, and its value. A batch is lines that end with
// a head; what no head follows was never committed. It is only appended to, or
// replaced as a whole.
const (
	linePut  = 'p' // an Entry
	lineDrop = 'x' // a key that is no longer in the ledger
	lineDir  = 'd' // a dirTime
	lineHead = 'h' // a Head, the end of a batch
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// errDamaged says that the journal is not as it was written: not cut short,
// but changed.
var errDamaged = errors.New("the journal is damaged")

// line is one line of the journal, checked and not yet decoded.
type line struct {
	kind  byte
	value []byte
}

func appendLine(b []byte, kind byte, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return b, fmt.Errorf("encode a line of the ledger: %w", err)
	}
	body := append([]byte{kind, ' '}, text...)
	return fmt.Appendf(b, "%08x %s\n", crc32.Checksum(body, crcTable), body), nil
}

// readLines checks the journal and returns the lines of its committed
// batches. torn says that an uncommitted batch was cut off at the end: the next write must
// replace the file. Damage before a committed batch is [errDamaged].
func readLines(data []byte) (lines []line, torn bool, err error) {
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
			return nil, false, errDamaged // a crash cuts the end off, and leaves nothing good behind it
		}
		lines = append(lines, l)
		if l.kind == lineHead {
			committed = len(lines)
		}
	}
	if committed == 0 && len(data) > 0 {
		return nil, false, errDamaged // the first batch comes by rename, whole
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

// dirTime is a directory's time of change before the agent put something into it.
type dirTime struct {
	Path  string `json:"path"`
	Mtime int64  `json:"mtime"`
}

// replay decodes lines into what they leave.
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
