import ExampleConsole

/// The options on the command line.
struct Options {
    enum Way: Equatable {
        case socketpair
        case pipes
        case socket(path: String)
        case service(name: String)
        case address(text: String)
    }

    var way = Way.socketpair
    /// Whether to pause before each step.
    var waitsAtSteps = false
    var wantsHelp = false

    static let usage = """
        Usage: FooBarClient [--over socketpair | pipes | socket] [--path PATH | --name NAME]
                            [--at ADDRESS] [--step]

        Shows, step by step, what two processes can do with distant objects.

          --over socketpair   launch FooBarServer over a socketpair (the default)
          --over pipes        launch it over its standard input and output
          --over socket       connect to the server at --path PATH, which was started with
                              FooBarServer --path PATH; --path alone means the same
          --name NAME         connect to the server of that name, which is started if it does not run
          --at ADDRESS        connect to any address, such as exec:FooBarServer or
                              ssh-exec:HOST:/path/to/FooBarServer
          --step              wait for Enter before each step
          --help              this text
        """

    init(_ arguments: [String]) throws {
        try UsageError.check(arguments)
        if UsageError.asksForHelp(arguments) {
            wantsHelp = true
            return
        }
        var over: String?
        var path: String?
        var name: String?
        var address: String?
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--over":
                over = rest.popFirst()
                guard let over, ["socketpair", "pipes", "socket"].contains(over) else {
                    throw UsageError("--over needs socketpair, pipes or socket after it")
                }
            case "--path":
                path = rest.popFirst()
                guard let path, !path.isEmpty else { throw UsageError("--path needs a path after it") }
            case "--name":
                name = rest.popFirst()
                guard let name, !name.isEmpty else { throw UsageError("--name needs a name after it") }
            case "--at":
                address = rest.popFirst()
                guard let address, !address.isEmpty else { throw UsageError("--at needs an address after it") }
            case "--step": waitsAtSteps = true
            default: throw UsageError("“\(argument)” is not understood")
            }
        }
        if let address {
            guard over == nil, path == nil, name == nil else { throw UsageError("--at goes with no other address") }
            way = .address(text: address)
            return
        }
        if let name {
            guard over == nil, path == nil else { throw UsageError("--name goes with neither --over nor --path") }
            way = .service(name: name)
            return
        }
        switch (over, path) {
        case (nil, nil), ("socketpair", nil): way = .socketpair
        case ("pipes", nil): way = .pipes
        case (nil, let path?), ("socket", let path?): way = .socket(path: path)
        case ("socket", nil): throw UsageError("--over socket needs --path and the path the server listens at")
        default: throw UsageError("--path goes with --over socket only")
        }
    }
}
