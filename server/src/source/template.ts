import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a template's `template.json` says. Its id is the name of its folder. */
export interface TemplateInfo {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly language: string
  readonly variables: readonly TemplateVariable[]
}

interface TemplateVariable {
  readonly key: string
  readonly description: string
  readonly required: boolean
  readonly secret: boolean
}

const templatesDir = join(import.meta.dirname, '..', '..', '..', 'templates')

/** The marketplace in its own order: the first of a language is what a bot of that language starts from. */
export function readTemplates(folder = templatesDir): TemplateInfo[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const templates = entries.map(({ name: id }) => readInfo(id, join(folder, id, 'template.json')))
  return templates.toSorted((a, b) => a.order - b.order).map(({ template }) => template)
}

/** The id comes from the list of templates: it is checked when a bot is made. */
export function templateFolder(id: string): string {
  return join(templatesDir, id)
}

function readInfo(id: string, file: string): { template: TemplateInfo; order: number } {
  const given = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  const { name, description, language, order, variables } = given
  if (
    !isText(name) ||
    !isText(description) ||
    !isText(language) ||
    typeof order !== 'number' ||
    !Array.isArray(variables)
  ) {
    throw new Error(`${file} needs name, description, language, order and variables`)
  }
  return {
    order,
    template: { id, name, description, language, variables: variables.map((variable) => readVariable(variable, file)) },
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function readVariable(value: unknown, file: string): TemplateVariable {
  const { key, description, required, secret } = value as Record<string, unknown>
  if (typeof key !== 'string' || !/^[A-Za-z_]\w{0,127}$/.test(key) || typeof description !== 'string') {
    throw new Error(`${file} has a variable without a valid key and description`)
  }
  return { key, description, required: required === true, secret: secret === true }
}
