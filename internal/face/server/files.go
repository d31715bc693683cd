package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
)

// File is a file or folder of a session's folder.
type File struct {
	Path    string    `json:"path" jsonschema:"below the session's folder, with slashes"`
	Dir     bool      `json:"dir,omitempty"`
	Link    bool      `json:"link,omitempty"`
	Size    int64     `json:"size,omitempty"`
	Changed time.Time `json:"changed,omitzero"`
}

type fileQuery struct {
	named
	Path string `json:"-" query:"path" doc:"below the session's folder; empty: the folder"`
}

// Files are the content of a folder.
type Files struct {
	Path    string `json:"path"`
	Entries []File `json:"entries"`
	More    bool   `json:"more,omitempty" jsonschema:"there are more than are listed"`
}

const (
	mostFiles    = 5000
	mostFileText = 2 << 20
	mostRaw      = 64 << 20
)

// root opens the folder of a session. What a link leads to outside of it cannot be opened.
func (s *Server) root(id string) (*os.Root, error) {
	x, err := s.session(id)
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(x.Dir)
}

func listFiles(s *Server, _ *call, q fileQuery) (Files, error) {
	root, err := s.root(q.ID)
	if err != nil {
		return Files{}, err
	}
	defer root.Close()
	dir := cmp.Or(strings.Trim(q.Path, "/"), ".")
	f, err := open(root, dir, fs.ModeDir)
	if err != nil {
		return Files{}, err
	}
	defer f.Close()
	all, err := f.ReadDir(mostFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return Files{}, err
	}
	out := Files{Path: dir, Entries: []File{}, More: len(all) > mostFiles}
	for _, e := range all[:min(len(all), mostFiles)] {
		x := File{Path: path.Join(dir, e.Name()), Dir: e.IsDir(), Link: e.Type()&fs.ModeSymlink != 0}
		if info, err := e.Info(); err == nil && e.Type().IsRegular() {
			x.Size, x.Changed = info.Size(), info.ModTime().UTC()
		}
		out.Entries = append(out.Entries, x)
	}
	slices.SortFunc(out.Entries, func(a, b File) int {
		if a.Dir != b.Dir {
			return cmp.Compare(fmt.Sprint(b.Dir), fmt.Sprint(a.Dir))
		}
		return strings.Compare(a.Path, b.Path)
	})
	return out, nil
}

// open opens a file of one kind. A pipe or a device is not opened, since that could wait or do something.
func open(root *os.Root, name string, kind fs.FileMode) (*os.File, error) {
	if strings.ContainsRune(name, 0) {
		return nil, badRequest("a path has no zero byte", "send the path as it is listed")
	}
	st, err := root.Stat(name)
	if err != nil {
		return nil, outside(err)
	}
	if st.Mode().Type() != kind {
		return nil, badRequest(name+" is of another kind", "list its folder to see what it is")
	}
	f, err := root.Open(name)
	return f, outside(err)
}

// outside makes an error of a path that leaves the folder.
func outside(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return forbidden(err.Error(), "give a path within the session's folder")
}

// FileText is the text of a file.
type FileText struct {
	Path      string `json:"path"`
	Size      int64  `json:"size"`
	Text      string `json:"text"`
	Binary    bool   `json:"binary,omitempty" jsonschema:"it is no text: read it raw"`
	Truncated bool   `json:"truncated,omitempty"`
}

// openFile opens a file for a principal. Only one with all scopes reads files of secrets.
func (s *Server) openFile(root *os.Root, who Principal, name string) (*os.File, error) {
	f, err := open(root, name, 0)
	if err != nil || who.May(Admin) {
		return f, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root.Name(), name))
	if err == nil {
		real, err = filepath.Rel(files.Resolved(root.Name()), real)
	}
	if secret, _, _ := permission.SecretPath(filepath.ToSlash(real)); err != nil || secret != "" {
		_ = f.Close()
		return nil, forbidden("the file may have secrets", "read it on the machine itself, or with the scope admin")
	}
	return f, nil
}

func readFile(s *Server, c *call, q fileQuery) (FileText, error) {
	root, err := s.root(q.ID)
	if err != nil {
		return FileText{}, err
	}
	defer root.Close()
	f, err := s.openFile(root, c.who, q.Path)
	if err != nil {
		return FileText{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return FileText{}, err
	}
	b, err := io.ReadAll(io.LimitReader(f, mostFileText))
	out := FileText{Path: q.Path, Size: st.Size(), Truncated: st.Size() > mostFileText}
	if out.Binary = slices.Contains(b, 0) || !out.Truncated && !utf8.Valid(b); !out.Binary {
		out.Text = strings.ToValidUTF8(string(b), "")
	}
	return out, err
}

// rawFile sends a file as it is, never as something that a browser runs.
func (s *Server) rawFile(w http.ResponseWriter, r *http.Request) {
	root, err := s.root(r.PathValue("id"))
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	defer root.Close()
	name := r.URL.Query().Get("path")
	who, _ := From(r.Context())
	f, err := s.openFile(root, who, name)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err == nil && st.Size() > mostRaw {
		err = problem(http.StatusRequestEntityTooLarge, "too-large", "The file is too large", fmt.Sprint(st.Size(), " bytes"),
			"read it on the machine itself")
	}
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	kind := mime.TypeByExtension(path.Ext(name))
	disposition := "inline"
	if !slices.Contains(imageKinds, kind) {
		kind, disposition = "application/octet-stream", "attachment"
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": path.Base(name)}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("ETag", fmt.Sprintf(`"%x-%x"`, st.ModTime().UnixNano(), st.Size()))
	h.Set("Cache-Control", "private, no-cache")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(5 * writeWait))
	http.ServeContent(w, r, "", st.ModTime(), f)
}
