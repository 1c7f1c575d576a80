package tool

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"unicode/utf8"
)

const (
	sniffBytes = 8 << 10
	imageBytes = 1 << 20 // within these an image's size must stand
)

// describe says what a file is that isn't text, by its first bytes; kind is
// "" for text. f stands at the file's start, and again when it returns.
func describe(head []byte, f io.ReadSeeker, size int64) (text, kind string) {
	if name, measure := imageFormat(head); name != "" && !looksText(head) {
		dim := ""
		if cfg, err := measure(io.LimitReader(f, imageBytes)); err == nil {
			dim = fmt.Sprintf(", %d×%d pixels", cfg.Width, cfg.Height)
		}
		f.Seek(0, io.SeekStart)
		return fmt.Sprintf(": a %s image%s, %d bytes. Images can't be shown to you yet; with bash you can examine or convert it.", name, dim, size), "image"
	}
	if bytes.HasPrefix(head, []byte("%PDF-")) {
		return fmt.Sprintf(": a PDF document, %d bytes. To get its text use bash, for example pdftotext.", size), "binary"
	}
	if looksText(head) {
		return "", ""
	}
	what := "a binary file (" + http.DetectContentType(head) + ")"
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		what = "text in UTF-16; bash: iconv -f utf-16 makes UTF-8 of it"
	case bytes.IndexByte(head, 0) < 0:
		what = "a binary file, or text in another encoding than UTF-8 (bash: file, iconv)"
	}
	return fmt.Sprintf(": %s, %d bytes. It isn't shown; use bash to examine it, for example xxd or strings.", what, size), "binary"
}

// looksText reports whether bytes are mostly text: no NUL, few control
// characters, few bytes that aren't UTF-8.
func looksText(b []byte) bool {
	if bytes.IndexByte(b, 0) >= 0 {
		return false
	}
	odd := 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		cut := !utf8.FullRune(b[i:])
		if r == utf8.RuneError && n == 1 && !cut || r < ' ' && !bytes.ContainsRune([]byte("\t\n\v\f\r\b\x1b"), r) {
			odd++
		}
		i += n
	}
	return odd*10 <= len(b)*3
}

// imageFormat names the format of an image and says how its size is read.
func imageFormat(b []byte) (string, func(io.Reader) (image.Config, error)) {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "PNG", png.DecodeConfig
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "JPEG", jpeg.DecodeConfig
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		return "GIF", gif.DecodeConfig
	case len(b) >= 30 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return "WebP", func(io.Reader) (image.Config, error) { return webpSize(b) }
	case len(b) >= 26 && string(b[:2]) == "BM" && binary.LittleEndian.Uint32(b[14:]) >= 40:
		return "BMP", func(io.Reader) (image.Config, error) {
			h := int32(binary.LittleEndian.Uint32(b[22:]))
			return image.Config{Width: int(binary.LittleEndian.Uint32(b[18:])), Height: int(max(h, -h))}, nil
		}
	}
	return "", nil
}

// webpSize reads the size from the first chunk of a WebP file.
func webpSize(b []byte) (image.Config, error) {
	le := binary.LittleEndian
	switch string(b[12:16]) {
	case "VP8X": // 24 bits each, less one
		return image.Config{Width: int(le.Uint32(b[24:])&0xffffff) + 1, Height: int(le.Uint32(b[26:])>>8) + 1}, nil
	case "VP8L": // 14 bits each, less one, behind a mark of one byte
		v := le.Uint32(b[21:])
		return image.Config{Width: int(v&0x3fff) + 1, Height: int(v>>14&0x3fff) + 1}, nil
	case "VP8 ":
		return image.Config{Width: int(le.Uint16(b[26:]) & 0x3fff), Height: int(le.Uint16(b[28:]) & 0x3fff)}, nil
	}
	return image.Config{}, fmt.Errorf("unknown chunk")
}
