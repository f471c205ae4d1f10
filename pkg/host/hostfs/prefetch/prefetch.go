// Package prefetch reads files before somebody asks for their digests.
package prefetch

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Sums are digests of files that are read beside what is to be looked at first. A digest serves
// once, and only for a file that is as it was: who changes one has it read again.
type Sums struct {
	files   *hostfs.Reader
	readers sync.WaitGroup

	mu   sync.Mutex
	next []string            // yet to be read, or asked for meanwhile
	sums map[string]*fileSum // under way, or over; nil: it was asked for
}

// fileSum is what was read of a file.
type fileSum struct {
	ended chan struct{}
	info  hostfs.FileInfo // as it was before; the zero one: it could not be read
	sum   blob.Digest
}

// Start begins to read files, the largest first, on all processors but the one that the caller
// goes on with. What cannot be read is left to who asks. The caller closes it.
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
	for range max(1, runtime.GOMAXPROCS(0)-1) {
		s.readers.Go(s.run)
	}
	return s, nil
}

// Close ends the reading, after the files that are being read.
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

// read is the digest of a file that could not change under the same stamp, and how it was before it
// was read. The zero one: it may, or it cannot be read.
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

// begin takes the next file; nil: there is none.
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

// Take is the digest of a file that is as info says, if it was read, or is being read. From then on
// nothing is known of the file.
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
