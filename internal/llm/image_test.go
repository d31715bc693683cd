package llm

import "testing"

func TestImagesAreKnownByTheirFirstBytes(t *testing.T) {
	for head, want := range map[string]string{
		"\x89PNG\r\n\x1a\n....": "image/png",
		"\xff\xd8\xff\xe0":      "image/jpeg",
		"GIF89a":                "image/gif",
		"GIF87a..":              "image/gif",
		"RIFF1234WEBPVP8 ":      "image/webp",
		"RIFF1234WAVE":          "",
		"RIFF":                  "",
		"\x89PNG":               "",
		"%PDF-1.7\n":            "",
		"package main\n":        "",
		"":                      "",
	} {
		got := ImageType([]byte(head))
		if got != want {
			t.Errorf("%q: %q", head, got)
		}
		if IsImage(got) != (want != "") {
			t.Errorf("%q: IsImage of %q", head, got)
		}
	}
	if IsImage("image/svg+xml") || IsImage("application/pdf") {
		t.Error("a type that models do not take")
	}
}

func TestImagesAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a.png": true, "/x/B.JPEG": true, "c.jpg": true, "d.gif": true, "e.webp": true,
		"png": false, "a.png.txt": false, "a.svg": false, "": false,
	} {
		if ImageName(name) != want {
			t.Errorf("%q: want %v", name, want)
		}
	}
}
