package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" //nolint:gosec // the format's own
	"crypto/rc4" //nolint:gosec // the format's own
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
)

// crypt decrypts a file whose user's password is empty (section 7.6, and ISO 32000-2 for revision 6).
type crypt struct {
	key            []byte
	ofStrings, ofs string // method of strings and of streams: V2, AESV2, AESV3, Identity
}

// padding stands for the missing characters of a password.
const padding = "\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A"

func newCrypt(r *Reader, e Dict) (*crypt, error) {
	if f := r.Name(e["Filter"]); f != "Standard" {
		return nil, errors.New("the PDF is encrypted by " + string(f) + ", which is not supported")
	}
	c := &crypt{ofStrings: "V2", ofs: "V2"}
	version, length := int(r.Number(e["V"])), int(r.Number(e["Length"]))
	switch version {
	case 1:
		length = 40
	case 2, 3:
	case 4, 5:
		c.ofStrings, c.ofs = method(r, e, "StrF"), method(r, e, "StmF")
		length = 128
	default:
		return nil, errors.New("the PDF is encrypted in an unknown way")
	}
	if length < 40 || length > 128 {
		length = 40
	}
	if version == 5 {
		return c, c.keyOf6(r, e)
	}
	return c, c.keyOf4(r, e, length/8)
}

// method is how strings or streams are encrypted.
func method(r *Reader, e Dict, which Name) string {
	name := r.Name(e[which])
	if name == "" || name == "Identity" {
		return "Identity"
	}
	filter := r.Dict(r.Dict(e["CF"])[name])
	if m := r.Name(filter["CFM"]); m != "" && m != "None" {
		return string(m)
	}
	return "Identity"
}

func (r *Reader) text(v any) []byte {
	s, _ := r.Value(v).(String)
	return []byte(s)
}

// keyOf4 makes the key of revisions 2 to 4 and checks it (algorithms 2, 4 and 5).
func (c *crypt) keyOf4(r *Reader, e Dict, length int) error {
	revision := int(r.Number(e["R"]))
	var id []byte
	if ids := r.Array(r.trailer["ID"]); len(ids) > 0 {
		id = r.text(ids[0])
	}
	h := md5.New() //nolint:gosec // the format's own
	h.Write([]byte(padding))
	h.Write(r.text(e["O"]))
	h.Write(binary.LittleEndian.AppendUint32(nil,
		uint32(int64(r.Number(e["P"]))))) //nolint:gosec // 32 bits with or without a sign
	h.Write(id)
	if open, ok := r.Value(e["EncryptMetadata"]).(bool); ok && !open && revision >= 4 {
		h.Write([]byte{0xff, 0xff, 0xff, 0xff})
	}
	key := h.Sum(nil)
	if revision >= 3 {
		for range 50 {
			sum := md5.Sum(key[:length]) //nolint:gosec // the format's own
			key = sum[:]
		}
	}
	c.key = key[:length]
	if !c.opens(r.text(e["U"]), id, revision) {
		return ErrPassword
	}
	return nil
}

// opens checks the key against the entry U.
func (c *crypt) opens(u, id []byte, revision int) bool {
	if revision < 3 {
		return bytes.Equal(u, rc4With(c.key, []byte(padding)))
	}
	sum := md5.Sum(append([]byte(padding), id...)) //nolint:gosec // the format's own
	out := sum[:]
	for i := range byte(20) {
		key := make([]byte, len(c.key))
		for k := range key {
			key[k] = c.key[k] ^ i
		}
		out = rc4With(key, out)
	}
	return len(u) >= 16 && bytes.Equal(u[:16], out)
}

func rc4With(key, data []byte) []byte {
	c, err := rc4.NewCipher(key) //nolint:gosec // the format's own
	if err != nil {
		return nil
	}
	out := make([]byte, len(data))
	c.XORKeyStream(out, data)
	return out
}

// keyOf6 checks the empty password and decrypts the key of revisions 5 and 6 (ISO 32000-2, algorithm 2.A).
func (c *crypt) keyOf6(r *Reader, e Dict) error {
	u, encrypted := r.text(e["U"]), r.text(e["UE"])
	if len(u) < 48 || len(encrypted) != 32 {
		return errDamaged
	}
	hash := func(salt []byte) []byte {
		if r.Number(e["R"]) < 6 {
			sum := sha256.Sum256(salt)
			return sum[:]
		}
		return hash6(salt)
	}
	if !bytes.Equal(hash(u[32:40]), u[:32]) {
		return ErrPassword
	}
	block, err := aes.NewCipher(hash(u[40:48]))
	if err != nil {
		return err
	}
	c.key = make([]byte, 32)
	cipher.NewCBCDecrypter(block, make([]byte, 16)).CryptBlocks(c.key, encrypted)
	return nil
}

// hash6 is the hash of the empty password with a salt (algorithm 2.B).
func hash6(salt []byte) []byte {
	sum := sha256.Sum256(salt)
	k := sum[:]
	for round := 0; ; round++ {
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		e := bytes.Repeat(k, 64)
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(e, e)
		rest := 0
		for _, b := range e[:16] {
			rest += int(b)
		}
		switch rest % 3 {
		case 0:
			s := sha256.Sum256(e)
			k = s[:]
		case 1:
			s := sha512.Sum384(e)
			k = s[:]
		default:
			s := sha512.Sum512(e)
			k = s[:]
		}
		if round >= 63 && int(e[len(e)-1]) <= round-31 {
			return k[:32]
		}
	}
}

// strings decrypts the strings of an object.
func (c *crypt) strings(number, generation int) func([]byte) []byte {
	return func(b []byte) []byte { return c.decrypt(c.ofStrings, number, generation, b) }
}

func (c *crypt) stream(number, generation int, b []byte) []byte {
	return c.decrypt(c.ofs, number, generation, b)
}

func (c *crypt) decrypt(method string, number, generation int, b []byte) []byte {
	switch method {
	case "V2":
		return rc4With(c.objectKey(number, generation, ""), b)
	case "AESV2":
		return decryptAES(c.objectKey(number, generation, "sAlT"), b)
	case "AESV3":
		return decryptAES(c.key, b)
	}
	return b
}

// objectKey is the key of an object (algorithm 1).
func (c *crypt) objectKey(number, generation int, salt string) []byte {
	h := md5.New() //nolint:gosec // the format's own
	h.Write(c.key)
	h.Write([]byte{byte(number), byte(number >> 8), byte(number >> 16), byte(generation), byte(generation >> 8)})
	h.Write([]byte(salt))
	return h.Sum(nil)[:min(16, len(c.key)+5)]
}

// decryptAES decrypts bytes that begin with their vector and end with padding.
func decryptAES(key, b []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil || len(b) < 32 {
		return nil
	}
	body := bytes.Clone(b[16 : len(b)-len(b)%16])
	cipher.NewCBCDecrypter(block, b[:16]).CryptBlocks(body, body)
	if pad := int(body[len(body)-1]); pad >= 1 && pad <= 16 {
		body = body[:len(body)-pad]
	}
	return body
}
