package theme

// palette is the list of a theme's named colours.
type palette struct {
	text, dim, faint, accent, user    hue
	good, warn, bad, info             hue
	selected, match, matchText        hue
	heading, code, link               hue
	keyword, str, number, comment     hue
	function, typ, variable, operator hue
	pink                              hue // of agents
	addedLine, removedLine            hue // backgrounds
	addedWord, removedWord, wordText  hue
}

// paletteOf is the palette of a theme's name.
func paletteOf(name string, dark bool) palette {
	switch {
	case name == "high-contrast" && dark:
		return contrastDark()
	case name == "high-contrast":
		return contrastLight()
	case name == "colour-blind":
		return colourBlind(dark)
	case dark:
		return darkPalette()
	}
	return lightPalette()
}

// The colours of text in the two palettes that are used most are among xterm's 256: their names are half as
// long as those of others, and a reply full of code has thousands of them.

func darkPalette() palette {
	return palette{
		dim: hue{"#a8a8a8", grey}, faint: hue{"#626262", grey}, accent: hue{"#87afff", blue}, user: hue{"#87afff", blue},
		good: hue{"#87d787", green}, warn: hue{"#ffd75f", yellow}, bad: hue{"#ff8787", red}, info: hue{"#5fd7ff", cyan},
		selected: hue{"#2c3a52", 0}, match: hue{"#ffd75f", yellow}, matchText: hue{"#15181e", black},
		heading: hue{"#afd7ff", brightBlue}, code: hue{"#d7af87", yellow}, link: hue{"#87afff", blue},
		keyword: hue{"#d7afff", magenta}, str: hue{"#afd787", green}, number: hue{"#ffaf87", yellow},
		comment:  hue{"#808080", grey},
		function: hue{"#87afff", blue}, typ: hue{"#5fd7d7", cyan}, variable: hue{"#d7d787", 0}, operator: hue{},
		pink:      hue{"#ff87d7", brightMagenta},
		addedLine: hue{"#16301f", 0}, removedLine: hue{"#3b1a20", 0}, addedWord: hue{"#28693c", 0},
		removedWord: hue{"#86303c", 0}, wordText: hue{"#ffffff", 0},
	}
}

func lightPalette() palette {
	return palette{
		dim: hue{"#585858", grey}, faint: hue{"#9e9e9e", grey}, accent: hue{"#005faf", blue}, user: hue{"#005faf", blue},
		good: hue{"#1a7f37", green}, warn: hue{"#8f5f00", yellow}, bad: hue{"#c4273a", red}, info: hue{"#005f87", cyan},
		selected: hue{"#d6e4fa", 0}, match: hue{"#ffd75e", yellow}, matchText: hue{"#1c1f24", black},
		heading: hue{"#005faf", blue}, code: hue{"#875f00", red}, link: hue{"#005faf", blue},
		keyword: hue{"#8700af", magenta}, str: hue{"#005f00", green}, number: hue{"#af5f00", red},
		comment:  hue{"#767676", grey},
		function: hue{"#005faf", blue}, typ: hue{"#005f87", cyan}, variable: hue{"#5f5f00", 0}, operator: hue{},
		pink:      hue{"#af005f", brightMagenta},
		addedLine: hue{"#dcf5e3", 0}, removedLine: hue{"#fde3e6", 0}, addedWord: hue{"#9fe0b2", 0},
		removedWord: hue{"#f7aab3", 0}, wordText: hue{"#14171c", 0},
	}
}

// contrastDark has a contrast of at least 7 to 1 on black for every colour that text is drawn in.
func contrastDark() palette {
	return palette{
		text: hue{"#ffffff", brightWhite}, dim: hue{"#d0d0d0", white}, faint: hue{"#a8a8a8", white},
		accent: hue{"#6fc3ff", brightCyan}, user: hue{"#ffff66", brightYellow},
		good: hue{"#5dff7f", brightGreen}, warn: hue{"#ffd500", brightYellow}, bad: hue{"#ff9a9a", brightRed},
		info:     hue{"#5cf0ff", brightCyan},
		selected: hue{"#003a8c", blue}, match: hue{"#ffff00", brightYellow}, matchText: hue{"#000000", black},
		heading: hue{"#ffffff", brightWhite}, code: hue{"#ffcf8a", brightYellow}, link: hue{"#6fc3ff", brightCyan},
		keyword: hue{"#f0a6ff", brightMagenta}, str: hue{"#8dff9e", brightGreen}, number: hue{"#ffc078", brightYellow},
		comment:  hue{"#bdbdbd", white},
		function: hue{"#8fd3ff", brightCyan}, typ: hue{"#7fffe5", brightCyan}, variable: hue{"#ffe08a", 0},
		operator: hue{"#ffffff", 0}, pink: hue{"#ff8fd0", magenta},
		addedLine: hue{"#003d12", 0}, removedLine: hue{"#520008", 0}, addedWord: hue{"#00601e", 0},
		removedWord: hue{"#a30012", 0}, wordText: hue{"#ffffff", 0},
	}
}

// contrastLight has a contrast of at least 7 to 1 on white for every colour that text is drawn in.
func contrastLight() palette {
	return palette{
		text: hue{"#000000", black}, dim: hue{"#333333", black}, faint: hue{"#595959", grey}, accent: hue{"#003a9e", blue},
		user: hue{"#003a9e", blue},
		good: hue{"#005214", green}, warn: hue{"#5c3d00", black}, bad: hue{"#920012", red}, info: hue{"#004d5c", blue},
		selected: hue{"#a9ccff", 0}, match: hue{"#ffe100", yellow}, matchText: hue{"#000000", black},
		heading: hue{"#000000", black}, code: hue{"#6b2b00", red}, link: hue{"#003a9e", blue},
		keyword: hue{"#5f0087", magenta}, str: hue{"#004d14", green}, number: hue{"#702800", red},
		comment:  hue{"#4a4a4a", grey},
		function: hue{"#003a9e", blue}, typ: hue{"#004d5c", blue}, variable: hue{"#573800", 0}, operator: hue{"#000000", 0},
		pink:      hue{"#87005f", brightMagenta},
		addedLine: hue{"#c2f5cf", 0}, removedLine: hue{"#ffd0d5", 0}, addedWord: hue{"#6fdc8c", 0},
		removedWord: hue{"#ff97a1", 0}, wordText: hue{"#000000", 0},
	}
}

// colourBlind tells good from bad by blue and orange, which people who confuse red and green tell apart
// (the palette of Okabe and Ito, 2008).
func colourBlind(dark bool) palette {
	c := lightPalette()
	c.good, c.bad, c.warn = hue{"#005a94", blue}, hue{"#a84300", red}, hue{"#7a5c00", yellow}
	c.addedLine, c.removedLine, c.addedWord, c.removedWord = hue{"#d9ecfa", 0}, hue{"#fce8d4", 0}, hue{"#93cbf0", 0},
		hue{"#f5b878", 0}
	c.str, c.code = hue{"#00617a", cyan}, hue{"#8a3d75", magenta}
	if dark {
		c = darkPalette()
		c.good, c.bad, c.warn = hue{"#56b4e9", brightBlue}, hue{"#f0923c", brightYellow}, hue{"#f0e442", yellow}
		c.addedLine, c.removedLine, c.addedWord, c.removedWord = hue{"#0f2b3d", 0}, hue{"#3d2408", 0}, hue{"#1d5f87", 0},
			hue{"#8a4f0f", 0}
		c.str, c.code = hue{"#7fcbe8", cyan}, hue{"#dc9cc4", magenta}
	}
	return c
}
