package inflate

import "hash/crc32"

// The flags of a header. FTEXT has no effect, and the flags that RFC 1952 reserves are ignored.
const (
	flagCRC     = 1 << 1
	flagExtra   = 1 << 2
	flagName    = 1 << 3
	flagComment = 1 << 4
)

// maxText is the maximum length of a name or comment, with the zero at its end.
const maxText = 512

// header reads the header of a stream. It returns io.EOF if the input has ended.
func (z *Reader) header() error {
	if err := z.src.need(8); err != nil {
		return err
	}
	z.crc, z.size = 0, 0
	var head [10]byte
	for i := range head {
		b, err := z.headerByte()
		if err != nil {
			return err
		}
		head[i] = b
	}
	if head[0] != 0x1f || head[1] != 0x8b || head[2] != 8 {
		return errHeader
	}
	flags := head[3]
	if flags&flagExtra != 0 {
		if err := z.extra(); err != nil {
			return err
		}
	}
	for _, flag := range []byte{flagName, flagComment} {
		if flags&flag == 0 {
			continue
		}
		if err := z.text(); err != nil {
			return err
		}
	}
	if flags&flagCRC != 0 {
		sum, err := z.src.number(16)
		if err != nil {
			return err
		}
		if sum != uint(z.crc&0xffff) {
			return errHeader
		}
	}
	z.crc, z.part, z.final = 0, atBlock, false
	z.pending, z.to, z.summed = 0, 0, 0
	return nil
}

// headerByte reads a byte of the header and adds it to the header's checksum.
func (z *Reader) headerByte() (byte, error) {
	v, err := z.src.number(8)
	if err != nil {
		return 0, err
	}
	z.one[0] = byte(v)
	z.crc = crc32.Update(z.crc, crc32.IEEETable, z.one[:])
	return z.one[0], nil
}

// extra skips the extra field.
func (z *Reader) extra() error {
	low, err := z.headerByte()
	if err != nil {
		return err
	}
	high, err := z.headerByte()
	if err != nil {
		return err
	}
	for range int(low) | int(high)<<8 {
		if _, err := z.headerByte(); err != nil {
			return err
		}
	}
	return nil
}

// text skips a name or a comment.
func (z *Reader) text() error {
	for range maxText {
		b, err := z.headerByte()
		if err != nil {
			return err
		}
		if b == 0 {
			return nil
		}
	}
	return errHeader
}

// next compares a stream with the checksum and size in its trailer, and begins the next stream.
func (z *Reader) next() error {
	z.src.take(z.src.count % 8)
	sum, err := z.src.number(32)
	if err != nil {
		return err
	}
	size, err := z.src.number(32)
	if err != nil {
		return err
	}
	if uint32(sum) != z.crc || uint32(size) != z.size {
		return errChecksum
	}
	return z.header()
}
