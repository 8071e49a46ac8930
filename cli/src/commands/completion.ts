import { Argument, type Command } from 'commander'
import { candidates } from '../candidates.ts'
import type { Context } from '../context.ts'
import type { Act } from '../program.ts'

/**
 * They ask the program itself, with the words so far; the last one is being typed. Names of bots are any text: bash and
 * PowerShell insert what they are given as it is, so it is quoted here; zsh and fish quote it themselves.
 */
const scripts: Readonly<Record<string, string>> = {
  bash: `_botberth() {
  local one
  COMPREPLY=()
  while IFS= read -r one; do
    [ -n "$one" ] && COMPREPLY+=("$(printf '%q' "$one")")
  done < <(botberth complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _botberth botberth`,
  zsh: `#compdef botberth
_botberth() {
  local -a found
  found=("\${(@f)$(botberth complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -- "\${found[@]}" || _files
}
compdef _botberth botberth`,
  fish: `function __botberth_complete
    set -l words (commandline -opc) (commandline -ct)
    botberth complete -- $words[2..-1] 2>/dev/null
end
complete -c botberth -a '(__botberth_complete)'`,
  powershell: `Register-ArgumentCompleter -Native -CommandName botberth -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($word -eq '') { $words += '""' }
  botberth complete -- @words 2>$null | Where-Object { $_ } | ForEach-Object {
    $quoted = $_
    if ($_ -notmatch '^[\\w.-]+$') {
      $quoted = "'" + [System.Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($_) + "'"
    }
    [System.Management.Automation.CompletionResult]::new($quoted, $_, 'ParameterValue', $_)
  }
}`,
}

export function registerCompletion(program: Command, act: Act): void {
  program
    .command('completion')
    .description('completion for a shell: load it as the shell starts, `source <(botberth completion bash)` say')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(scripts)))
    .action(act(completion))
  program
    .command('complete [words...]', { hidden: true })
    .description('what may come next')
    .action(act((context, _options, ...words) => complete(context, program, words.flat() as string[])))
}

async function completion(context: Context, _options: object, shell = ''): Promise<void> {
  const script = scripts[shell] ?? ''
  context.out.result({ shell, script }, script)
}

async function complete(context: Context, program: Command, words: readonly string[]): Promise<void> {
  const found = await candidates(context, program, words)
  context.out.result(found, found.join('\n'))
}
