// Package head reads the beginning of a large file that the agent wrote.
package head

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// size is larger than the beginning of such a file, in bytes: the machine it is of, and its time.
const size = 8 << 10

// Reader reads a file, or its beginning and end; hostfs.Files implements it.
type Reader interface {
	ReadFile(path string) ([]byte, error)
	ReadEnds(path string, most int) (begin, end []byte, err error)
}

// Read decodes the part of a JSON file before a key, and adds closing, which ends the open objects.
// The agent must have written the file. The rest may be megabytes, and most callers need only the
// machine that the file is of. If the key is not near the beginning, or the file has another form
// or is cut short, Read decodes the whole file.
func Read(r Reader, path, before, closing string, into any) error {
	begin, end, err := r.ReadEnds(path, size)
	if err != nil {
		return err
	}
	at := bytes.Index(begin, []byte(`,"`+before+`":`)) // never inside a string: there the quote has a backslash
	if at > 0 && bytes.HasSuffix(end, []byte("}")) && json.Unmarshal(append(begin[:at:at], closing...), into) == nil {
		return nil
	}
	return ReadAll(r, path, into)
}

// ReadAll decodes a whole JSON file. Its errors name the file.
func ReadAll(r interface {
	ReadFile(path string) ([]byte, error)
}, path string, into any) error {
	data, err := r.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
