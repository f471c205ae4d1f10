// Package head reads where a large file of the agent's own begins.
package head

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// size is more than comes first in such a file, in bytes: of whom it is, and from when.
const size = 8 << 10

// Reader reads a file, or where it begins and ends; hostfs.Files is one.
type Reader interface {
	ReadFile(path string) ([]byte, error)
	ReadEnds(path string, most int) (begin, end []byte, err error)
}

// Read decodes of a JSON file that the agent wrote all that comes before a key, and closes the
// objects that are open there. What lies behind may be megabytes, and most who ask only want to
// know whose the file is. What has more before the key, what somebody else wrote and what is cut
// short is read whole.
func Read(r Reader, path, before, closing string, into any) error {
	begin, end, err := r.ReadEnds(path, size)
	if err != nil {
		return err
	}
	at := bytes.Index(begin, []byte(`,"`+before+`":`)) // never within a text: there a quote has a backslash
	if at > 0 && bytes.HasSuffix(end, []byte("}")) && json.Unmarshal(append(begin[:at:at], closing...), into) == nil {
		return nil
	}
	return ReadAll(r, path, into)
}

// ReadAll decodes all of a JSON file. Its error names the file.
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
