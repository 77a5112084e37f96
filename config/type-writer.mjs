/** Writes what a source file exports as declarations without imports. Types that it can't write out are an error. */
import ts from 'typescript'

/** @typedef {import('typescript').Type} Type */
/** @typedef {import('typescript').Symbol} TypeSymbol */

const { TypeFlags, SymbolFlags, ObjectFlags } = ts

/** Printed as they are named. */
const named =
  TypeFlags.Any |
  TypeFlags.Unknown |
  TypeFlags.String |
  TypeFlags.Number |
  TypeFlags.Boolean |
  TypeFlags.BigInt |
  TypeFlags.Void |
  TypeFlags.Undefined |
  TypeFlags.Null |
  TypeFlags.Never |
  TypeFlags.NonPrimitive |
  TypeFlags.ESSymbol

const hasName = SymbolFlags.Interface | SymbolFlags.TypeAlias | SymbolFlags.Class

const literals =
  TypeFlags.StringLiteral |
  TypeFlags.NumberLiteral |
  TypeFlags.BigIntLiteral |
  TypeFlags.BooleanLiteral |
  TypeFlags.TemplateLiteral

export class TypeWriter {
  #checker
  #program
  #source
  /** Declarations by the names that they have in the file. @type {Map<string, string>} */
  #declared = new Map()
  /** @type {Map<Type, TypeSymbol>} */
  #aliases = new Map()
  /** @type {Map<Type, string>} */
  #names = new Map()

  /**
   * @param {import('typescript').Program} program
   * @param {import('typescript').SourceFile} source
   */
  constructor(program, source) {
    this.#program = program
    this.#checker = program.getTypeChecker()
    this.#source = source
    for (const file of program.getSourceFiles())
      if (!file.isDeclarationFile) for (const statement of file.statements) this.#readAlias(statement)
  }

  /**
   * The compiler does not keep the name of a type that it computes from a schema.
   *
   * @param {import('typescript').Statement} statement
   */
  #readAlias(statement) {
    if (!ts.isTypeAliasDeclaration(statement) || statement.typeParameters !== undefined) return
    const symbol = this.#checker.getSymbolAtLocation(statement.name)
    const type = this.#checker.getTypeAtLocation(statement.name)
    const isOwn =
      type.flags & (TypeFlags.Object | TypeFlags.Union | TypeFlags.Intersection) &&
      (type.symbol?.flags ?? 0) & SymbolFlags.TypeLiteral
    if (symbol !== undefined && isOwn && type.aliasSymbol === undefined && !this.#aliases.has(type))
      this.#aliases.set(type, symbol)
  }

  text() {
    const module = this.#checker.getSymbolAtLocation(this.#source)
    if (module === undefined) throw new Error(`${this.#source.fileName} exports nothing.`)
    const exported = this.#checker.getExportsOfModule(module)
    // Theirs are the names that consumers use, so no other type may have them.
    const own = exported.map((symbol) => this.#resolved(symbol))
    for (const symbol of own)
      if (symbol.flags & (SymbolFlags.Interface | SymbolFlags.TypeAlias | SymbolFlags.Class))
        this.#names.set(this.#checker.getDeclaredTypeOfSymbol(symbol), symbol.name)
    for (const symbol of own) this.#export(symbol)
    const text = `${[...this.#declared.values()].join('\n\n')}\n\nexport {}\n`
    return ts.createPrinter().printFile(ts.createSourceFile('types.d.ts', text, ts.ScriptTarget.Latest))
  }

  /** @param {TypeSymbol} symbol */
  #resolved(symbol) {
    return symbol.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol
  }

  /** @param {TypeSymbol} symbol */
  #export(symbol) {
    const { name } = symbol
    const comment = this.#comment(symbol)
    if (symbol.flags & SymbolFlags.Class) return this.#class(symbol, 'export ')
    if (symbol.flags & (SymbolFlags.Interface | SymbolFlags.TypeAlias)) {
      const type = this.#checker.getDeclaredTypeOfSymbol(symbol)
      const parameters = this.#parameters(type.aliasTypeArguments ?? /** @type {any} */ (type).typeParameters)
      this.#declared.set(name, '')
      this.#declared.set(name, `${comment}export ${this.#declaration(name, type, parameters)}`)
      return
    }
    const type = this.#checker.getTypeOfSymbol(symbol)
    const signatures = type.getCallSignatures()
    const functions = signatures.map(
      (each) => `${comment}export declare function ${name}${this.#signature(each, ': ')}`,
    )
    const constant = () => `${comment}export declare const ${name}: ${this.#type(type)}`
    this.#declared.set(`${name}()`, functions.length > 0 ? functions.join('\n') : constant())
  }

  /**
   * @param {string} name
   * @param {Type} type
   * @param {string} [parameters]
   */
  #declaration(name, type, parameters = '') {
    const isObject = (type.flags & (TypeFlags.Object | TypeFlags.Intersection)) !== 0
    return isObject && type.getCallSignatures().length === 0 && !this.#isList(type)
      ? `interface ${name}${parameters} ${this.#members(type)}`
      : `type ${name}${parameters} = ${this.#structure(type)}`
  }

  /** @param {Type} type */
  #isList = (type) => this.#checker.isArrayType(type) || this.#checker.isTupleType(type)

  /**
   * A class is more than its members: private ones keep others from being taken for it.
   *
   * @param {TypeSymbol} symbol
   */
  #class(symbol, prefix = '') {
    const type = /** @type {import('typescript').InterfaceType} */ (
      this.#checker.getDeclaredTypeOfSymbol(symbol)
    )
    this.#names.set(type, symbol.name)
    this.#declared.set(symbol.name, '')
    const bases = this.#checker.getBaseTypes(type)
    const inherited = new Set(bases.flatMap((base) => base.getProperties().map(({ name }) => name)))
    const base = bases.map((each) => ` extends ${this.#type(each)}`).join('')
    const isOwn = (/** @type {TypeSymbol} */ { name }) => !inherited.has(name)
    const constructors = prefix === '' ? '  private constructor()\n' : ''
    const members = publicOf(type)
      .filter(isOwn)
      .map((each) => this.#member(each))
    const text = `${this.#comment(symbol)}${prefix}declare class ${symbol.name}${base} {\n${constructors}${members.join('\n')}\n}`
    this.#declared.set(symbol.name, text)
  }

  /**
   * The type where it is used: by its name, if it has one.
   *
   * @param {Type} type
   * @returns {string}
   */
  #type(type) {
    const known = this.#names.get(type)
    if (known !== undefined) return known
    if (type.flags & (named | literals)) return this.#checker.typeToString(type)
    if (type.flags & TypeFlags.TypeParameter) return type.symbol.name
    const symbol = type.aliasSymbol ?? this.#aliases.get(type) ?? type.symbol
    if (this.#isOfPlatform(type)) return this.#ofPlatform(type)
    const isNamed =
      (symbol?.flags ?? 0) & hasName && !symbol.name.startsWith('__') && !this.#isOfPlatform(type, symbol)
    // Type parameters have no meaning outside of the function that declares them.
    const isOpen = (type.aliasTypeArguments ?? this.#arguments(type)).some(
      ({ flags }) => flags & TypeFlags.TypeParameter,
    )
    if (!isNamed || isOpen || this.#isList(type)) return this.#structure(type)
    const isClass = symbol.flags & SymbolFlags.Class
    if (isClass && this.#arguments(type).length === 0) {
      if (this.#declared.has(symbol.name)) return symbol.name
      this.#class(symbol)
      return symbol.name
    }
    const name = this.#nameFor(type, symbol)
    this.#names.set(type, name)
    this.#declared.set(name, '')
    this.#declared.set(name, `${this.#comment(symbol)}${this.#declaration(name, type)}`)
    return name
  }

  /**
   * `ResourceIpPolicy` of `Resource<'ipPolicy'>`.
   *
   * @param {Type} type
   * @param {TypeSymbol} symbol
   */
  #nameFor(type, symbol) {
    const args = type.aliasTypeArguments ?? this.#arguments(type)
    const words = args.flatMap((each) => (each.isStringLiteral() ? [each.value] : []))
    const base = [symbol.name, ...words.map((word) => word[0]?.toUpperCase() + word.slice(1))]
      .join('')
      .replace(/\W/g, '_')
    const isTaken = (/** @type {string} */ name) =>
      this.#declared.has(name) || [...this.#names.values()].includes(name)
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? base : `${base}${count}`
      if (!isTaken(name)) return name
    }
  }

  /** @param {Type} type */
  #arguments = (type) =>
    /** @type {any} */ (type).objectFlags & ObjectFlags.Reference
      ? this.#checker.getTypeArguments(/** @type {import('typescript').TypeReference} */ (type))
      : []

  /**
   * Declared by the language or by what every platform has, such as `Promise` and `AbortSignal`?
   *
   * @param {Type} type
   */
  #isOfPlatform(type, symbol = type.symbol) {
    const files = symbol?.declarations?.map((each) => each.getSourceFile()) ?? []
    if (files.length === 0 || symbol.name.startsWith('__')) return false
    return files.some(
      (file) => this.#program.isSourceFileDefaultLibrary(file) || file.fileName.includes('/@types/node/'),
    )
  }

  /** @param {Type} type */
  #ofPlatform(type) {
    if (this.#isList(type)) return this.#structure(type)
    const declared = type.symbol.declarations ?? []
    const parameters = Math.max(
      0,
      ...declared.map((each) => /** @type {any} */ (each).typeParameters?.length ?? 0),
    )
    const args = this.#arguments(type).slice(0, parameters)
    return args.length === 0
      ? type.symbol.name
      : `${type.symbol.name}<${args.map((each) => this.#type(each)).join(', ')}>`
  }

  /**
   * @param {Type} type
   * @returns {string}
   */
  #structure(type) {
    const checker = this.#checker
    if (type.flags & (named | literals)) return checker.typeToString(type)
    if (type.isUnion()) return this.#union(type)
    if (checker.isTupleType(type) || checker.isArrayType(type)) return this.#list(type)
    if (type.flags & TypeFlags.IndexedAccess) {
      const { objectType, indexType } = /** @type {import('typescript').IndexedAccessType} */ (type)
      return `${this.#type(objectType)}[${this.#type(indexType)}]`
    }
    if (type.flags & TypeFlags.Index)
      return `keyof ${this.#type(/** @type {import('typescript').IndexType} */ (type).type)}`
    if (type.isIntersection() && type.types.some(({ flags }) => flags & named))
      return type.types.map((each) => this.#type(each)).join(' & ')
    if ((type.flags & (TypeFlags.Object | TypeFlags.Intersection)) === 0)
      throw new Error(`A type can't be written out: ${checker.typeToString(type)}`)
    const [signature, ...others] = type.getCallSignatures()
    if (signature !== undefined && others.length === 0 && type.getProperties().length === 0)
      return `(${this.#signature(signature, ' => ')})`
    return this.#members(type)
  }

  /** @param {import('typescript').UnionType} type */
  #union(type) {
    const parts = type.types.map((each) => this.#type(each))
    const isBoolean = parts.includes('true') && parts.includes('false')
    const shown = isBoolean
      ? [...parts.filter((each) => each !== 'true' && each !== 'false'), 'boolean']
      : parts
    return shown.length === 1 ? `${shown[0]}` : `(${[...new Set(shown)].join(' | ')})`
  }

  /** @param {Type} type */
  #list(type) {
    const args = this.#arguments(type)
    if (this.#checker.isArrayType(type)) {
      const prefix = type.symbol.name === 'ReadonlyArray' ? 'readonly ' : ''
      return `(${prefix}${args.map((each) => this.#type(each)).join()}[])`
    }
    const { readonly, elementFlags } = /** @type {any} */ (type).target
    const elements = args.map((each, index) => {
      const flags = elementFlags[index]
      if (flags & ts.ElementFlags.Rest) return `...${this.#type(each)}[]`
      return `${this.#type(each)}${flags & ts.ElementFlags.Optional ? '?' : ''}`
    })
    return `(${readonly ? 'readonly ' : ''}[${elements.join(', ')}])`
  }

  /** @param {Type} type */
  #members(type) {
    const indexes = this.#checker.getIndexInfosOfType(type)
    const lines = [
      ...indexes.map(
        ({ keyType, type: value, isReadonly }) =>
          `  ${isReadonly ? 'readonly ' : ''}[key: ${this.#type(keyType)}]: ${this.#type(value)}`,
      ),
      ...type.getCallSignatures().map((each) => `  ${this.#signature(each, ': ')}`),
      ...publicOf(type).map((each) => this.#member(each)),
    ]
    return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n}`
  }

  /** @param {TypeSymbol} symbol */
  #member(symbol) {
    const comment = this.#comment(symbol)
    const name = nameOf(symbol)
    if (symbol.getJsDocTags().some((tag) => tag.name === 'internal')) return `  private readonly ${name}`
    const type = this.#checker.getTypeOfSymbol(symbol)
    const isOptional = (symbol.flags & SymbolFlags.Optional) !== 0
    const isMethod = (symbol.flags & SymbolFlags.Method) !== 0 && !isOptional
    if (isMethod)
      return type
        .getCallSignatures()
        .map((each) => `${comment}  ${name}${this.#signature(each, ': ')}`)
        .join('\n')
    const isReadonly =
      (ts.getCheckFlags(symbol) & 8) !== 0 ||
      (symbol.declarations ?? []).some(
        (each) => (ts.getCombinedModifierFlags(each) & ts.ModifierFlags.Readonly) !== 0,
      )
    return `${comment}  ${isReadonly ? 'readonly ' : ''}${name}${isOptional ? '?' : ''}: ${this.#type(type)}`
  }

  /**
   * @param {import('typescript').Signature} signature
   * @param {string} arrow
   */
  #signature(signature, arrow) {
    const parameters = signature.getParameters().map((symbol, index) => {
      const declaration = /** @type {import('typescript').ParameterDeclaration | undefined} */ (
        symbol.valueDeclaration
      )
      const isRest = declaration?.dotDotDotToken !== undefined
      const isOptional =
        declaration !== undefined &&
        ts.isParameter(declaration) &&
        this.#checker.isOptionalParameter(declaration)
      const name = symbol.name.startsWith('__') ? `argument${index + 1}` : symbol.name
      const type = this.#type(this.#checker.getTypeOfSymbol(symbol))
      return `${isRest ? '...' : ''}${name}${isOptional ? '?' : ''}: ${type}`
    })
    const result = this.#type(signature.getReturnType())
    return `${this.#parameters(signature.typeParameters)}(${parameters.join(', ')})${arrow}${result}`
  }

  /** @param {readonly Type[] | undefined} parameters */
  #parameters(parameters) {
    if (parameters === undefined || parameters.length === 0) return ''
    const texts = parameters.map((each) => {
      const constraint = each.getConstraint()
      const fallback = each.getDefault()
      return `${each.symbol.name}${constraint ? ` extends ${this.#type(constraint)}` : ''}${fallback ? ` = ${this.#type(fallback)}` : ''}`
    })
    return `<${texts.join(', ')}>`
  }

  /** @param {TypeSymbol} symbol */
  #comment(symbol) {
    const text = ts
      .displayPartsToString(symbol.getDocumentationComment(this.#checker))
      .trim()
      .replaceAll('*/', '*\\/')
    return text === '' ? '' : `/** ${text.split('\n').join('\n * ')} */\n`
  }
}

/** @param {Type} type */
const publicOf = (type) =>
  type.getProperties().filter(({ name }) => !name.startsWith('#') && !name.startsWith('__#'))

/** @param {TypeSymbol} symbol */
function nameOf({ name }) {
  const written = ts.unescapeLeadingUnderscores(/** @type {any} */ (name))
  const [, wellKnown] = /^__@(\w+?)@/.exec(written) ?? []
  if (wellKnown !== undefined) return `[Symbol.${wellKnown}]`
  return /^[A-Za-z_$][\w$]*$/.test(written) ? written : JSON.stringify(written)
}
