package main

import (
	"context"
	"fmt"
	"strings"
)

// completionScripts complete commands, and flags as --help lists them, so that they are always those of the program.
var completionScripts = map[string]string{
	"bash": `_quartet() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "%[1]s" -- "$cur"))
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" "${COMP_WORDS[1]}" --help 2>/dev/null | grep -oE -- '^ {6}--[a-z0-9-]+')" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -F _quartet quartet
`,
	"zsh": `#compdef quartet
_quartet() {
  if (( CURRENT == 2 )); then
    compadd %[1]s
  elif [[ $PREFIX == -* ]]; then
    compadd -- $("${words[1]}" "${words[2]}" --help 2>/dev/null | grep -oE -- '^ {6}--[a-z0-9-]+')
  else
    _files
  fi
}
compdef _quartet quartet
`,
	"fish": `complete -c quartet -n __fish_use_subcommand -f -a "%[1]s"
complete -c quartet -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(quartet (commandline -opc)[2] --help 2>/dev/null | string match -rg "^ {6}(--[a-z0-9-]+)")'
`,
}

const completionAbout = `Prints a script that completes commands and flags. For the current shell:

  source <(quartet completion bash)
  source <(quartet completion zsh)
  quartet completion fish | source`

func runCompletion(_ context.Context, args []string, env environment) error {
	rest, err := parse(newFlags("completion", "bash|zsh|fish", completionAbout, env), args, env)
	if err != nil {
		return err
	}
	if len(rest) != 1 || completionScripts[rest[0]] == "" {
		return usagef("give one shell: bash, zsh or fish")
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	_, err = fmt.Fprintf(env.out, completionScripts[rest[0]], strings.Join(names, " "))
	return err
}
