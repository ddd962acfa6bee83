import DistantObjects

extension Command {
    /// Lists the services of this user.
    func services() throws {
        let services: [RegisteredService]
        do { services = try RegisteredService.all() } catch {
            throw FileError("services", (error as? ConnectionError)?.message ?? "\(error)")
        }
        for service in services {
            try Console.say(
                "\(service.name): \(service.state), process \(service.pid) (\(PlainText.name(service.program)), "
                    + "version \(PlainText.name(service.version)))")
        }
    }
}
