package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Stamps cache digests of files by what stat said of them when they were read. Safe for several
// goroutines.
//
// On disk they are a line that names their boot and checksum, and then records of one length,
// sorted, so that a run of ten thousand files looks them up where they lie: to decode as many lines
// of text costs more than to stat the files.
type Stamps struct {
	boot   string
	damage string
	onDisk []byte // records, as they are on disk

	mu    sync.Mutex
	used  []bool                      // by record on disk: asked for since it was read
	fresh map[fingerprint]blob.Digest // not on disk yet
}

// fingerprint stands for a path and all that stat said of it.
type fingerprint [16]byte

const (
	stampsHeader = "netwright-stamps 2 "
	stampSize    = len(fingerprint{}) + len(blob.Digest{})
)

var _ hostfs.Stamps = (*Stamps)(nil)

// LoadStamps reads the stamps of this boot; those of another are not believed: after a power cut a
// file may have its times and not its bytes. Without any, files are read.
func LoadStamps(r Reader) *Stamps {
	s := &Stamps{boot: host.BootID(r), fresh: map[fingerprint]blob.Digest{}}
	data, err := r.ReadFile(stampsFile)
	// A power cut may leave nothing in it, or zeros: they were not synced, and are of no use now.
	if err == nil && len(bytes.Trim(data, "\x00")) > 0 {
		s.onDisk, err = parseStamps(data, s.boot)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		s.damage = fmt.Sprintf("%s: %v; files are read again", stampsFile, err)
	}
	s.used = make([]bool, len(s.onDisk)/stampSize)
	return s
}

// Boot names the boot that goes on; "" where nothing does, as below an image's root.
func (s *Stamps) Boot() string { return s.boot }

// parseStamps returns the records; none with an error, or of another boot.
func parseStamps(data []byte, boot string) ([]byte, error) {
	head, _, ok := strings.Cut(string(data[:min(len(data), 200)]), "\n")
	if !ok || !strings.HasPrefix(head, "netwright-stamps ") {
		return nil, errors.New("not a stamps file")
	}
	of, sum, _ := strings.Cut(strings.TrimPrefix(head, stampsHeader), " ")
	if boot == "" || of != boot {
		return nil, nil // also where another version wrote it
	}
	body := data[len(head)+1:]
	if len(body)%stampSize != 0 || sum != checksum(body) {
		return nil, errors.New("it is damaged")
	}
	return body, nil
}

func checksum(records []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(records, crcTable))
}

func formatStamps(records []byte, boot string) []byte {
	return append([]byte(stampsHeader+boot+" "+checksum(records)+"\n"), records...)
}

func fingerprintOf(path string, info hostfs.FileInfo) (p fingerprint) {
	var room [256]byte
	b := room[:0]
	for _, v := range [...]uint64{
		uint64(info.Mode), uint64(info.UID), uint64(info.GID), uint64(info.Size), info.Dev, info.Inode,
		uint64(info.Mtime), uint64(info.Ctime),
	} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	sum := sha256.Sum256(append(b, path...))
	return fingerprint(sum[:len(p)])
}

// find is the number of a record on disk, or where it would be.
func (s *Stamps) find(p fingerprint) (int, bool) {
	return sort.Find(len(s.used), func(i int) int { return bytes.Compare(p[:], s.onDisk[i*stampSize:][:len(p)]) })
}

// Lookup implements [hostfs.Stamps].
func (s *Stamps) Lookup(path string, info hostfs.FileInfo) (blob.Digest, bool) {
	return s.lookUp(fingerprintOf(path, info))
}

func (s *Stamps) lookUp(p fingerprint) (blob.Digest, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sum, ok := s.fresh[p]; ok {
		return sum, true
	}
	i, ok := s.find(p)
	if !ok {
		return blob.Digest{}, false
	}
	s.used[i] = true
	return blob.Digest(s.onDisk[i*stampSize+len(p):][:len(blob.Digest{})]), true
}

// Record implements [hostfs.Stamps].
func (s *Stamps) Record(path string, info hostfs.FileInfo, sum blob.Digest) {
	if s.boot == "" || ours(path) {
		return
	}
	p := fingerprintOf(path, info)
	if known, ok := s.lookUp(p); ok && known == sum {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh[p] = sum
}

// ours says that a path is the ledger's own: it reads what it wrote, and compares it with nothing.
func ours(path string) bool {
	switch path {
	case stampsFile, effectsFile, trialsFile, lastGoodFile, apiCacheFile, JournalFile:
		return true
	}
	return strings.HasPrefix(path, blobDir+"/") || strings.HasPrefix(path, revisionDir+"/")
}

// SaveStamps writes the stamps if there are new ones. Those on disk that nobody asked for since
// they were read are forgotten: their files are gone, changed, or nobody's concern any more.
func (s *Stamps) SaveStamps(ctx context.Context, w Writer) error {
	records := s.merged()
	if records == nil {
		return nil
	}
	spec := hostfs.FileSpec{Mode: 0o600, Fleeting: true} // after a power cut they are of another boot
	if err := writeAs(ctx, w, stampsFile, formatStamps(records, s.boot), spec); err != nil {
		return fmt.Errorf("write the ledger's stamps: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onDisk, s.used, s.fresh = records, make([]bool, len(records)/stampSize), map[fingerprint]blob.Digest{}
	for i := range s.used {
		s.used[i] = true
	}
	return nil
}

// merged are the records that are to be on disk, or nil when they are.
func (s *Stamps) merged() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fresh) == 0 {
		return nil
	}
	var all [][]byte
	for i, used := range s.used {
		record := s.onDisk[i*stampSize:][:stampSize]
		if _, replaced := s.fresh[fingerprint(record)]; used && !replaced {
			all = append(all, record)
		}
	}
	for p, sum := range s.fresh {
		all = append(all, append(p[:], sum[:]...))
	}
	slices.SortFunc(all, bytes.Compare)
	return slices.Concat(all...)
}
