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
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Stamps caches digests of files by the stat of the file when it was read. It is safe for
// concurrent use.
//
// The file has a line with the boot and a checksum, followed by sorted records of fixed length. So
// a run with ten thousand files can look them up without decoding. To decode as many lines of text
// takes longer than the stat of the files.
type Stamps struct {
	boot   string
	damage string
	onDisk []byte // records as they are on disk

	mu    sync.Mutex
	used  []bool             // by record on disk: whether it was looked up since it was read
	fresh map[pathHash]stamp // not on disk yet
}

// pathHash is a hash of a path.
type pathHash [8]byte

// fingerprint is the hash of a path, followed by a hash of its stat. The stamps of a file that
// changes have the same path hash, so a new one replaces the one before it.
type fingerprint [16]byte

// stamp is the digest of a file with a fingerprint.
type stamp struct {
	of  fingerprint
	sum blob.Digest
}

const (
	stampsHeader = "netwright-stamps 3 "
	stampSize    = len(fingerprint{}) + len(blob.Digest{})
)

var _ hostfs.Stamps = (*Stamps)(nil)

// LoadStamps reads the stamps of this boot. It ignores those of another boot, because after a power
// cut a file may have the same times and other bytes. Without stamps, files are read again. The
// error says that the boot cannot be known now.
func LoadStamps(r Reader) (*Stamps, error) {
	boot, unread := host.BootID(r)
	s := &Stamps{boot: boot, fresh: map[pathHash]stamp{}}
	data, err := r.ReadFile(stampsFile)
	// A power cut may leave the file empty or full of zeros, because it is not synced. That is no
	// damage.
	if err == nil && len(bytes.Trim(data, "\x00")) > 0 {
		s.onDisk, err = parseStamps(data, s.boot)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		s.damage = fmt.Sprintf("%s: %v; files are read again", stampsFile, err)
	}
	s.used = make([]bool, len(s.onDisk)/stampSize)
	return s, unread
}

// Boot returns the present boot; "" if there is none, as below the root of an image.
func (s *Stamps) Boot() string { return s.boot }

// parseStamps returns the records; none for another boot or with an error.
func parseStamps(data []byte, boot string) ([]byte, error) {
	head, _, ok := strings.Cut(string(data[:min(len(data), 200)]), "\n")
	if !ok || !strings.HasPrefix(head, "netwright-stamps ") {
		return nil, errors.New("not a stamps file")
	}
	of, sum, _ := strings.Cut(strings.TrimPrefix(head, stampsHeader), " ")
	if boot == "" || of != boot {
		return nil, nil // also for the file of another version
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
	of := sha256.Sum256(append(room[:0], path...))
	b := room[:0]
	for _, v := range [...]uint32{uint32(info.Mode), uint32(info.UID), uint32(info.GID)} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range [...]uint64{uint64(info.Size), info.Dev, info.Inode, uint64(info.Mtime), uint64(info.Ctime)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	stat := sha256.Sum256(b) // of one block: as fast as to hash path and stat together
	copy(p[copy(p[:], of[:len(pathHash{})]):], stat[:])
	return p
}

// find returns the index of a record on disk, or the index at which it would be. Fingerprints are
// hashes, which are spread evenly, so it compares with the records about where the fingerprint
// would be and not with those of the whole file.
func (s *Stamps) find(p fingerprint) (int, bool) {
	compare := func(i int) int { return bytes.Compare(p[:], s.onDisk[i*stampSize:][:len(p)]) }
	count := len(s.used)
	about, _ := bits.Mul64(binary.BigEndian.Uint64(p[:]), uint64(count))
	from, to := int(about), int(about)
	for reach := 32; from > 0 && compare(from-1) <= 0; reach *= 2 {
		from, to = max(from-reach, 0), from
	}
	for reach := 32; to < count && compare(to) > 0; reach *= 2 {
		from, to = to+1, min(to+reach, count)
	}
	at := from + sort.Search(to-from, func(i int) bool { return compare(from+i) <= 0 })
	return at, at < count && compare(at) == 0
}

// Lookup implements [hostfs.Stamps].
func (s *Stamps) Lookup(path string, info hostfs.FileInfo) (blob.Digest, bool) {
	return s.lookUp(fingerprintOf(path, info))
}

func (s *Stamps) lookUp(p fingerprint) (blob.Digest, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is, ok := s.fresh[pathHash(p[:])]; ok && is.of == p {
		return is.sum, true
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
	s.fresh[pathHash(p[:])] = stamp{p, sum}
}

// ours reports whether a path belongs to the ledger itself, which compares its own files with
// nothing.
func ours(path string) bool {
	switch path {
	case stampsFile, effectsFile, trialsFile, lastGoodFile, apiCacheFile, JournalFile:
		return true
	}
	return strings.HasPrefix(path, blobDir+"/") || strings.HasPrefix(path, revisionDir+"/")
}

// SaveStamps writes the stamps if there are new ones. It drops those on disk that were not looked
// up since they were read, because their files were removed or no task owns them any more, and
// those of files that changed.
func (s *Stamps) SaveStamps(ctx context.Context, w Writer) error {
	records := s.merged()
	if records == nil {
		return nil
	}
	spec := hostfs.FileSpec{Mode: 0o600, Fleeting: true} // no sync: after a power cut they are of another boot
	if err := writeAs(ctx, w, stampsFile, formatStamps(records, s.boot), spec); err != nil {
		return fmt.Errorf("write the ledger's stamps: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onDisk, s.used, s.fresh = records, make([]bool, len(records)/stampSize), map[pathHash]stamp{}
	for i := range s.used {
		s.used[i] = true
	}
	return nil
}

// merged returns the records to write, or nil if none is new.
func (s *Stamps) merged() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fresh) == 0 {
		return nil
	}
	var all [][]byte
	for i, used := range s.used {
		record := s.onDisk[i*stampSize:][:stampSize]
		if _, replaced := s.fresh[pathHash(record)]; used && !replaced {
			all = append(all, record)
		}
	}
	for _, is := range s.fresh {
		all = append(all, append(is.of[:], is.sum[:]...))
	}
	slices.SortFunc(all, bytes.Compare)
	return slices.Concat(all...)
}
