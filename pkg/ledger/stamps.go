package ledger

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// stamp is a file's metadata as it was when its digest was taken.
type stamp struct {
	mode         fs.FileMode
	uid, gid     int
	size         int64
	inode        uint64
	mtime, ctime int64
	sum          host.Digest
}

// stampsHeader starts the file; the boot's id follows. A text form, one line a
// file, because decoding 10,000 entries of JSON costs more than the run.
const stampsHeader = "netwright-stamps 1 "

func stampOf(info host.FileInfo, sum host.Digest) stamp {
	return stamp{info.Mode, info.UID, info.GID, info.Size, info.Inode, info.Mtime, info.Ctime, sum}
}

// Known implements [host.Stamps].
func (l *Ledger) Known(path string, info host.FileInfo) (host.Digest, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.stamps[path]
	if !ok || s != stampOf(info, s.sum) {
		return host.Digest{}, false
	}
	return s.sum, true
}

// Record implements [host.Stamps].
func (l *Ledger) Record(path string, info host.FileInfo, sum host.Digest) {
	if l.boot == "" || strings.ContainsAny(path, "\n") {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := stampOf(info, sum); l.stamps[path] != s {
		l.stamps[path] = s
		l.dirty = true
	}
}

// formatStamps writes a line a file: sum mode uid gid size inode mtime ctime path.
func formatStamps(stamps map[string]stamp, boot string) []byte {
	paths := make([]string, 0, len(stamps))
	for p := range stamps {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	b := make([]byte, 0, 64+len(paths)*180)
	b = append(b, stampsHeader+boot+"\n"...)
	for _, p := range paths {
		s := stamps[p]
		b = hex.AppendEncode(b, s.sum[:])
		for _, v := range [...]int64{int64(s.mode), int64(s.uid), int64(s.gid), s.size} {
			b = strconv.AppendInt(append(b, ' '), v, 10)
		}
		b = strconv.AppendUint(append(b, ' '), s.inode, 10)
		b = strconv.AppendInt(append(b, ' '), s.mtime, 10)
		b = strconv.AppendInt(append(b, ' '), s.ctime, 10)
		b = append(append(append(b, ' '), p...), '\n')
	}
	return b
}

// parseStamps reads the stamps of this boot; those of another are not believed.
// On an error the map is empty.
func parseStamps(data []byte, boot string) (map[string]stamp, error) {
	text := string(data)
	head, rest, ok := strings.Cut(text, "\n")
	if !ok || !strings.HasPrefix(head, stampsHeader) {
		return map[string]stamp{}, errors.New("not a stamps file")
	}
	if boot == "" || strings.TrimPrefix(head, stampsHeader) != boot {
		return map[string]stamp{}, nil
	}
	stamps := make(map[string]stamp, strings.Count(rest, "\n"))
	for line := range strings.Lines(rest) {
		s, path, err := parseStamp(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return map[string]stamp{}, err
		}
		stamps[path] = s
	}
	return stamps, nil
}

func parseStamp(line string) (s stamp, path string, err error) {
	sum, rest, _ := strings.Cut(line, " ")
	if len(sum) != 2*len(s.sum) {
		return s, "", fmt.Errorf("damaged line %.20q", line)
	}
	if _, err := hex.Decode(s.sum[:], []byte(sum)); err != nil {
		return s, "", fmt.Errorf("damaged line %.20q: %w", line, err)
	}
	var nums [7]uint64
	for i := range nums {
		var field string
		field, rest, _ = strings.Cut(rest, " ")
		if nums[i], err = strconv.ParseUint(field, 10, 64); err != nil {
			return s, "", fmt.Errorf("damaged line %.20q: %w", line, err)
		}
	}
	if rest == "" {
		return s, "", fmt.Errorf("damaged line %.20q: no path", line)
	}
	s.mode, s.uid, s.gid = fs.FileMode(nums[0]), int(nums[1]), int(nums[2])
	s.size, s.inode, s.mtime, s.ctime = int64(nums[3]), nums[4], int64(nums[5]), int64(nums[6])
	return s, rest, nil
}
