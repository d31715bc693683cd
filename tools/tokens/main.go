// Command tokens compares lathe's estimate of tokens, 3.5 bytes each, with a real tokenizer (o200k, of GPT-4o and
// later) over kinds of text. It needs no network: the vocabulary is in a module.
//
//	cd tools/tokens && go run . ../..
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

const bytesPerToken = 3.5 // as in internal/llm/estimate.go

// kinds are patterns of files below the repository.
var kinds = []struct{ name, pattern string }{
	{"Go", "internal/agent/*.go"},
	{"English", "docs/*.md"},
	{"JSON", "internal/config/schema.json"},
}

// cjk is Chinese, Japanese and Korean prose.
const cjk = `请先阅读配置文件,然后修改测试,使其在没有网络的情况下也能运行。如果命令失败,请说明原因,不要重复同样的调用。用户最近的消息优先于较早的消息。
まず設定ファイルを読み、ネットワークがなくても動くようにテストを直してください。コマンドが失敗したら、同じ呼び出しを繰り返さず、原因を説明してください。
먼저 설정 파일을 읽고, 네트워크 없이도 실행되도록 테스트를 고쳐 주세요. 명령이 실패하면 같은 호출을 반복하지 말고 원인을 설명해 주세요.
`

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string) error {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	enc, err := tiktoken.GetEncoding("o200k_base")
	if err != nil {
		return err
	}
	fmt.Printf("%-8s %8s %8s %9s %6s\n", "text", "bytes", "tokens", "estimate", "error")
	row := func(name, text string) {
		n := len(enc.Encode(text, nil, nil))
		guess := float64(len(text)) / bytesPerToken
		fmt.Printf("%-8s %8d %8d %9.0f %+5.0f%%\n", name, len(text), n, guess, (guess/float64(n)-1)*100)
	}
	for _, k := range kinds {
		files, err := filepath.Glob(filepath.Join(root, k.pattern))
		if err != nil {
			return err
		}
		text := ""
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			text += string(b)
		}
		row(k.name, text)
	}
	row("CJK", cjk)
	return nil
}
