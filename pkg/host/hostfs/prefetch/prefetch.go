// Package prefetch computes digests of files before a caller needs them.
package prefetch

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Sums has digests of files, computed in the background. Each digest is returned once, and only if
// the file has not changed: after a change, the caller must read the file itself.
type Sums struct {
	files   *hostfs.Reader
	readers sync.WaitGroup

	mu   sync.Mutex
	next []string            // not read yet; a caller may have taken some meanwhile
	sums map[string]*fileSum // in progress or finished; nil: already taken
}

// fileSum is the digest of one file.
type fileSum struct {
	ended chan struct{}
	info  hostfs.FileInfo // its metadata before the read; zero: it could not be read
	sum   blob.Digest
}

// Start begins to read files, the largest first, on all processors: the caller often waits for
// systemd and the container runtime. It skips files that cannot be read. The caller must call
// Close.
func Start(opt hostfs.Options, names []string) (*Sums, error) {
	opt.Stamps, opt.Prefetched = nil, nil
	files, err := hostfs.Open(opt)
	if err != nil {
		return nil, err
	}
	s := &Sums{files: files, sums: map[string]*fileSum{}}
	sizes := map[string]int64{}
	for _, name := range names {
		if info, err := files.Lstat(name); err == nil && info.Type == hostfs.Regular {
			sizes[name] = info.Size
			s.next = append(s.next, name)
		}
	}
	slices.SortStableFunc(s.next, func(one, other string) int { return cmp.Compare(sizes[other], sizes[one]) })
	for range runtime.GOMAXPROCS(0) {
		s.readers.Go(s.run)
	}
	return s, nil
}

// Close stops after the files that are being read now.
func (s *Sums) Close() error {
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	s.readers.Wait()
	return s.files.Close()
}

func (s *Sums) run() {
	for name, one := s.begin(); one != nil; name, one = s.begin() {
		one.info, one.sum = s.read(name)
		close(one.ended)
	}
}

// read returns the metadata before the read, and the digest. The metadata is zero if the file
// cannot be read, or could change without getting another time.
func (s *Sums) read(name string) (before hostfs.FileInfo, sum blob.Digest) {
	before, err := s.files.Lstat(name)
	if err != nil || !hostfs.Stable(before) {
		return hostfs.FileInfo{}, sum
	}
	if sum, err = s.files.Sum(name); err != nil {
		return hostfs.FileInfo{}, sum
	}
	return before, sum
}

// begin returns the next file; nil: there is none.
func (s *Sums) begin() (name string, one *fileSum) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.next) > 0 {
		name, s.next = s.next[0], s.next[1:]
		if _, asked := s.sums[name]; !asked {
			one = &fileSum{ended: make(chan struct{})}
			s.sums[name] = one
			return name, one
		}
	}
	return "", nil
}

// Take returns the digest of a file with the metadata info, if the file was read. It waits if the
// file is being read. A second call for the file returns false.
func (s *Sums) Take(name string, info hostfs.FileInfo) (blob.Digest, bool) {
	s.mu.Lock()
	one := s.sums[name]
	s.sums[name] = nil
	s.mu.Unlock()
	if one == nil {
		return blob.Digest{}, false
	}
	<-one.ended
	return one.sum, one.info == info
}
