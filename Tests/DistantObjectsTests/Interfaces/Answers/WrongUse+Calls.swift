// Calls, and the making of remotes.
extension WrongUse {
    static let calls: [WrongUse] = [
        .call(
            "_ = try await directory.add(\"x\")",
            "cannot convert value of type 'String' to expected argument type 'Person'"),
        .call(
            "let _: String = try await directory.add(person)",
            "cannot convert value of type 'Int' to specified type 'String'"),
        .call("try await directory.foo(1)", "value of type 'Remote<DirectoryInterface>' has no dynamic member 'foo'"),
        .call("try await directory.add(person, 3)", "extra argument in call"),
        .call("try await directory.clear(3)", "extra argument in call"),
        .call("_ = try await directory.range(1)", "missing argument for parameter"),
        // The compiler looks for `timeout:`, and so names a label that is too much. The guide says that there are none.
        .call("_ = try await directory.range(from: 1, to: 2)", "extra argument 'to' in call"),
        .call("_ = try await directory.find(\"x\").rename(\"y\")", "must be unwrapped to refer to member 'rename'"),
        .call(
            "try await directory.add.oneWay(1)", "cannot convert value of type 'Int' to expected argument type 'Person'"
        ),
        .call("let a = directory.range(1, 2); print(a)", "'try'", "'await'"),
        .call(
            "try await directory.watch(PersonObject())",
            "cannot convert value of type 'PersonObject' to expected argument type 'Remote<PersonInterface>'"),
        // A subscript for such properties would spoil the answer to labels.
        .call("print(directory.note)", "no exact matches in reference to subscript"),
        // The library's errors cannot be typed: a call fails for reasons of its own, too.
        .call(
            "do { _ = try await directory.add(person) } catch let error as CancellationError { print(error) }"),
        // With the subscripts of several levels the compiler names the member and not its owner.
        .call("try await admin.foo(1)", "reference to member 'foo' cannot be resolved without a contextual type"),
        .call(
            "let _: Remote<DirectoryInterface> = admin",
            "cannot assign value of type 'Remote<AdminInterface>' to type 'Remote<DirectoryInterface>'"),
        .call(
            "_ = Remote<AdminInterface>(directory)",
            "the interface of this Remote does not extend that one; `try Remote<…>(remote.object)` checks whether"),
        .call("_ = Remote<DirectoryInterface>(vending: PersonObject())", "'DirectoryInterface' and 'PersonObject.I'"),
        .call("_ = try await connection.root(as: Person.self)", "requires that 'Person' conform to 'Interface'"),
        .call("connection.vend(PersonObject())", "call can throw but is not marked with 'try'"),
        // Without an interface the result has the type that the caller writes. Without one it is dropped.
        .call("let a = try await object.open(\"Ada\"); print(a)", "warning: constant 'a' inferred to have type '()'"),
        .call("let a: Int = try await object.open(\"Ada\"); print(a)"),
        .call("let a: Plain = try await object.open(\"Ada\"); print(a)", "Plain"),
    ]

    /// Words that calls had before.
    static let renamedCalls: [WrongUse] = [
        .call(
            "_ = try await directory.add(person, deadline: .seconds(1))",
            "the label is `timeout:`, as in `remote.count(text, timeout: .seconds(5))`"),
        .call("try await directory.clear(deadline: .seconds(1))", "the label is `timeout:`"),
        .call("_ = try await directory.add.call(person, deadline: .seconds(1))", "call the message itself"),
        .call("_ = try await directory.add.call(person, timeout: .seconds(1))", "call the message itself"),
        .call("_ = try await directory.add.call(person)", "call the message itself"),
        .call("try await directory.clear.call(deadline: .seconds(1))", "call the message itself"),
        .call("try await directory.clear.call()", "call the message itself"),
    ]

    static let streams: [WrongUse] = [
        .call(
            "let _: DistantStream<String> = try await directory.changes()",
            "cannot assign value of type 'DistantStream<Int>' to type 'DistantStream<String>'"),
        .call("_ = DistantStream([{ 1 }])", "type '() -> Int' cannot conform to 'Encodable'"),
        .call(
            "var i = stream.makeAsyncIterator(); _ = try await i.next(deadline: .seconds(1))",
            "the stream has the time-out: `for try await change in changes.timeout(.seconds(5))`"),
        .call(
            "var i = stream.makeAsyncIterator(); _ = try await i.next(timeout: .seconds(1))",
            "the stream has the time-out"),
        .call("for try await x in stream.timeout(.seconds(1)).map({ $0 + 1 }).filter({ $0 > 2 }) { print(x) }"),
        .call("let _: DistantStream<String> = DistantStream(AsyncStream<String> { nil })"),
    ]
}
