import { findFile, listEnding, type Project } from './project.ts'
import { type Draft, type Facts, runFile } from './recipe.ts'

/** Java and Kotlin: Maven, Gradle, a finished jar, or a single file. */
export function draftJvm(facts: Facts): Draft {
  const { project, main } = facts
  if (main?.endsWith('.jar')) return draftJar(main)
  if (project.read('pom.xml') !== undefined) return draftMaven(project)
  if (findFile(project, gradleFiles)) return draftGradle(project)
  const jars = listEnding(project, '', '.jar')
  const source = main ?? findFile(project, sourceNames[facts.language === 'kotlin' ? 'kotlin' : 'java'])
  if (source === undefined && jars.length === 1) return draftJar(jars[0])
  return draftSource(source)
}

const gradleFiles = ['build.gradle', 'build.gradle.kts']
const sourceNames = {
  java: ['Main.java', 'Bot.java', 'App.java', 'src/Main.java', 'src/Bot.java'],
  kotlin: ['Main.kt', 'main.kt', 'Bot.kt', 'bot.kt', 'src/Main.kt', 'main.kts'],
}
const lookedFor =
  'MAIN or START in a config file, the jar that pom.xml, build.gradle and settings.gradle describe, one .jar file at the root, Main.java, Main.kt'

function draftJar(jar: string | undefined): Draft {
  return { recipe: 'none', tools: ['java'], build: [], start: jar && runFile('java -jar', jar), env: {}, lookedFor }
}

function draftSource(file: string | undefined): Draft {
  if (file?.endsWith('.kts')) {
    const start = runFile('kotlinc -script', file)
    return { recipe: 'kotlinc', tools: ['kotlinc', 'java'], build: [], start, env: {}, lookedFor }
  }
  if (file?.endsWith('.kt')) {
    return {
      recipe: 'kotlinc',
      tools: ['kotlinc', 'java'],
      build: [['kotlinc', `./${file}`, '-include-runtime', '-d', '.botberth/app.jar']],
      start: 'java -jar .botberth/app.jar',
      isStartOfOwnBuild: true,
      env: {},
      lookedFor,
    }
  }
  return { recipe: 'none', tools: ['java'], build: [], start: file && runFile('java', file), env: {}, lookedFor }
}

/** The project's own wrapper, which fetches the version that it wants, else the program of the host. */
function wrapped(project: Project, wrapper: string, program: string): { argv: string[]; tools: string[] } {
  if (project.read(wrapper) === undefined) return { argv: [program], tools: [program, 'java'] }
  return { argv: ['/bin/sh', `./${wrapper}`], tools: ['java'] }
}

function draftMaven(project: Project): Draft {
  const { argv, tools } = wrapped(project, 'mvnw', 'mvn')
  const jar = findMavenJar(project.read('pom.xml') ?? '')
  return {
    recipe: 'maven',
    tools,
    build: [[...argv, '--batch-mode', '--no-transfer-progress', '-DskipTests', 'package']],
    start: jar && `java -jar ${jar}`,
    env: {},
    lookedFor,
  }
}

/** `target/NAME-VERSION.jar`, the one with its dependencies inside where that has a name of its own. */
function findMavenJar(pom: string): string | undefined {
  const parent = cutElement(pom, 'parent')
  const build = cutElement(pom, 'build')
  const own = ['parent', 'build', 'dependencies', 'dependencyManagement', 'profiles'].reduce(
    (text, element) => text.replace(cutElement(text, element), ''),
    pom,
  )
  const version = element(own, 'version') ?? element(parent, 'version')
  const artifact = element(own, 'artifactId')
  const name = element(build, 'finalName') ?? (artifact && version && `${artifact}-${version}`)
  if (name === undefined || name === '') return undefined
  return `target/${name}${build.includes('jar-with-dependencies') ? '-jar-with-dependencies' : ''}.jar`
}

/** By plain search: a pattern over a hostile file of megabytes could take minutes. */
function cutElement(text: string, name: string): string {
  const from = text.indexOf(`<${name}>`)
  const to = text.indexOf(`</${name}>`, from)
  return from < 0 || to < 0 ? '' : text.slice(from, to + name.length + 3)
}

/** Undefined also for what is not plain, `${revision}` for one. */
function element(text: string, name: string): string | undefined {
  const value = cutElement(text, name).slice(name.length + 2, -name.length - 3)
  return /^[\w.-]{1,100}$/.test(value.trim()) ? value.trim() : undefined
}

function draftGradle(project: Project): Draft {
  const { argv, tools } = wrapped(project, 'gradlew', 'gradle')
  const script = gradleFiles.map((file) => project.read(file) ?? '').join('\n')
  const settings = ['settings.gradle', 'settings.gradle.kts'].map((file) => project.read(file) ?? '').join('\n')
  const name = /rootProject\.name\s*=\s*["']([\w.-]{1,100})["']/.exec(settings)?.[1]
  const version = /^[ \t]*version[ \t]{0,20}=?[ \t]{0,20}["']([\w.-]{1,100})["']/m.exec(script)?.[1]
  const suffix = version === undefined ? '' : `-${version}`
  const isShadow = /shadow/.test(script)
  const isApplication =
    /(?:\bid[\s(]*["']application["']|apply plugin:\s*["']application["']|^[ \t]*`?application`?[ \t]*$)/m.test(script)
  const [task, start] = isShadow
    ? ['shadowJar', `java -jar build/libs/${name}${suffix}-all.jar`]
    : isApplication
      ? ['installDist', `/bin/sh build/install/${name}/bin/${name}`]
      : ['assemble', `java -jar build/libs/${name}${suffix}.jar`]
  return {
    recipe: 'gradle',
    tools,
    build: [[...argv, '--no-daemon', '--console=plain', task]],
    start: name && start,
    env: {},
    lookedFor,
  }
}
